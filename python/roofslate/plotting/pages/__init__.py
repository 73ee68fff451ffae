"""Pages that compute in the browser."""
