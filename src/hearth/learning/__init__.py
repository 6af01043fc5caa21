"""Learning from plans that were right: demonstration store, teacher, versions, promotion gate, unlearning."""
