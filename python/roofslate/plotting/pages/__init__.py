"""Pages that compute in the browser: one file with the engine, controls, chart and derivations."""
