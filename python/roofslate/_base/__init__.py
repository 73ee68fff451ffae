"""Domain-independent helpers: messages, files, TOML, progress, threads, versions."""
