#include "roofslate/language/error.hpp"
#include "roofslate/simd/instructions.hpp"
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace roofslate
{
#if defined(ROOFSLATE_HAS_NEON)
    namespace neon
    {
        extern const InstructionSet set;
    }
#else
    namespace base
    {
        extern const InstructionSet set;
    }
#endif
#if defined(ROOFSLATE_HAS_AVX2)
    namespace avx2
    {
        extern const InstructionSet set;
    }
#endif
#if defined(ROOFSLATE_HAS_AVX512)
    namespace avx512
    {
        extern const InstructionSet set;
    }
#endif

    namespace
    {
        struct Candidate
        {
            const InstructionSet* set;
            bool (*supported)();
        };
        // Best first. What is asked of the processor is exactly what the files are compiled with.
        const Candidate candidates[] = {
#if defined(ROOFSLATE_HAS_AVX512)
            {&avx512::set,
             [] {
                 return bool(__builtin_cpu_supports("avx512f")) && bool(__builtin_cpu_supports("avx512bw"))
                     && bool(__builtin_cpu_supports("avx512cd")) && bool(__builtin_cpu_supports("avx512dq"))
                     && bool(__builtin_cpu_supports("avx512vl")) && bool(__builtin_cpu_supports("avx2"))
                     && bool(__builtin_cpu_supports("fma"));
             }},
#endif
#if defined(ROOFSLATE_HAS_AVX2)
            {&avx2::set, [] { return bool(__builtin_cpu_supports("avx2")) && bool(__builtin_cpu_supports("fma")); }},
#endif
#if defined(ROOFSLATE_HAS_NEON)
            {&neon::set, [] { return true; }},
#else
            {&base::set, [] { return true; }},
#endif
        };

        const InstructionSet& choose()
        {
            if (const char* name = std::getenv("ROOFSLATE_SIMD"); name && *name)
            {
                if (const InstructionSet* named = find_instruction_set(name))
                    return *named;
                throw unknown_name(
                    std::string("ROOFSLATE_SIMD='") + name
                    + "' names no instruction set that was built and that this machine has; 'base', 'avx2' and "
                      "'avx512' exist");
            }
            for (const Candidate& c : candidates)
                if (c.supported())
                    return *c.set;
            return *candidates[std::size(candidates) - 1].set;
        }
        std::atomic<const InstructionSet*> in_use{nullptr};
    }

    const InstructionSet* find_instruction_set(const char* name)
    {
        for (const Candidate& c : candidates)
            if (std::strcmp(c.set->name, name) == 0)
                return c.supported() ? c.set : nullptr;
        return nullptr;
    }
    const InstructionSet& instruction_set()
    {
        if (!in_use)
            in_use = &choose();
        return *in_use;
    }
    void use_instruction_set(const InstructionSet& set) { in_use = &set; }
}
