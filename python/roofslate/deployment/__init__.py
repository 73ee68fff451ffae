"""The best deployment under conditions: candidates, search, result, launch commands."""
