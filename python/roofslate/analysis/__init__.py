"""Questions about outputs: solve, explain, compare, differentiate, sample."""
