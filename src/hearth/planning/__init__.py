"""Turns a request into a checked plan: by retrieval of demonstrations, or by a language model, in a cascade."""
