"""How a request becomes a checked plan: by recall of demonstrations, or by a language model, in a cascade."""
