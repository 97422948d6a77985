"""Numerics on plain NumPy arrays: no kernel knows what a tensor is."""
