"""Services request by request, timetables of trains and pipelines, expert layers, ciphers, reversible networks."""
