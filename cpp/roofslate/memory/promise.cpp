#include "roofslate/memory/promise.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/memory/available.hpp"
#include <cstdio>
#include <string>

namespace roofslate
{
    namespace
    {
        std::string in_gigabytes(double bytes)
        {
            char text[64];
            std::snprintf(text, sizeof text, "%.4g GB (%.17g bytes)", bytes / 1e9, bytes);
            return text;
        }
    }

    void promise_memory(double bytes, const char* otherwise)
    {
        constexpr double never_too_much = 64 << 20;
        if (bytes <= never_too_much)
            return;
        const double free = double(available_memory());
        if (bytes > free)
            throw Error(
                "OutOfMemory",
                "the results would take " + in_gigabytes(bytes) + " and " + in_gigabytes(free)
                    + " are free; nothing was computed. " + otherwise);
    }
}
