// Refuses what would take more memory than is free, before any work.
#pragma once

namespace roofslate
{
    // `otherwise` says what to do instead. Throws OutOfMemory.
    void promise_memory(
        double bytes,
        const char* otherwise =
            "Write them into a file with out=numpy.memmap(...), or evaluate a part of the longest axis "
            "at a time");
}
