"""Acme's behaviours: `hintbound run acme`."""
