"""Trains and measures the tagger of names: made-up sentences in, weights and their figures out."""
