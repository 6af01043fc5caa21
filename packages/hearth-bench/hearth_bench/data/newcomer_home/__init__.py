"""Homes of two invented people and what they ask, written before anything was asked."""
