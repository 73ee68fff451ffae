"""Services request by request, timetables of trains and pipelines, ciphers and reversible networks."""
