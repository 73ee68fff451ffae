#include "roofslate/memory/available.hpp"
#include <algorithm>
#include <cstdio>

namespace roofslate
{
    namespace
    {
        std::size_t number_in(const char* path, const char* format)
        {
            std::size_t result = std::size_t(-1);
            if (std::FILE* f = std::fopen(path, "r"))
            {
                char line[256];
                unsigned long long x;
                while (std::fgets(line, sizeof line, f))
                    if (std::sscanf(line, format, &x) == 1)
                    {
                        result = std::size_t(x);
                        break;
                    }
                std::fclose(f);
            }
            return result;
        }
    }

    std::size_t available_memory()
    {
        std::size_t free = number_in("/proc/meminfo", "MemAvailable: %llu kB");
        if (free != std::size_t(-1))
            free *= 1024;
        const std::size_t limit = number_in("/sys/fs/cgroup/memory.max", "%llu"),
                          used = number_in("/sys/fs/cgroup/memory.current", "%llu");
        if (limit != std::size_t(-1) && used != std::size_t(-1))
            free = std::min(free, limit > used ? limit - used : 0);
        return free;
    }
}
