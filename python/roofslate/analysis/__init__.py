"""Questions on outputs: solve, explain, compare, differentiate, sample."""
