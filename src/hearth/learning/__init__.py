"""How plans that were right become what the device plans with: buffer, teacher, versions, gate, unlearning."""
