"""Scenarios that tests of several packages evaluate."""

# A decode step in plain numbers: all inputs of a pass, its cost and its memory.
DECODE = {
    "batch_size": 2400.0,
    "context_length": 8192.0,
    "total_parameters": 671e9,
    "active_parameters": 37e9,
    "bytes_per_weight": 0.5,
    "kv_bytes_per_token": 1667.0,
    "peak_flops": 9e15,
    "hbm_bandwidth": 8e12,
    "hbm_capacity": 192e9,
    "chips": 72.0,
    "chip_price": 2 / 3600,
}
