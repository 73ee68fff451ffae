"""From keywords to a grid, through the engine, to labelled arrays."""
