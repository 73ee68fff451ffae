#include "roofslate/language/error.hpp"
#include "roofslate/simd/candidates.hpp"
#include <atomic>
#include <cstdlib>

namespace roofslate
{
    namespace
    {
        // 'base', 'avx2' and 'avx512'
        std::string names_of_candidates()
        {
            const std::vector<Candidate>& all = instruction_set_candidates();
            std::string names;
            for (std::size_t k = all.size(); k-- > 0;)
            {
                if (!names.empty())
                    names += k > 0 ? ", " : " and ";
                names += std::string("'") + all[k].set->name + "'";
            }
            return names;
        }
        const InstructionSet& choose()
        {
            if (const char* name = std::getenv("ROOFSLATE_SIMD"); name && *name)
            {
                if (const InstructionSet* named = find_instruction_set(name))
                    return *named;
                throw unknown_name(
                    std::string("ROOFSLATE_SIMD='") + name
                    + "' names no instruction set that was built and runs on this machine; " + names_of_candidates()
                    + " exist");
            }
            return *instruction_sets().front(); // the last candidate runs on every machine
        }
        std::atomic<const InstructionSet*> in_use{nullptr};
    }

    std::vector<const InstructionSet*> instruction_sets()
    {
        std::vector<const InstructionSet*> available;
        for (const Candidate& c : instruction_set_candidates())
            if (c.supported())
                available.push_back(c.set);
        return available;
    }
    const InstructionSet* find_instruction_set(const char* name)
    {
        for (const InstructionSet* set : instruction_sets())
            if (set->name == std::string_view(name))
                return set;
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
