#include <roofslate/error.hpp>
#include <roofslate/registry.hpp>

namespace roofslate
{
#define ROOFSLATE_APPEND(theme) void append_##theme(std::vector<Entry>& to);
    ROOFSLATE_THEMES(ROOFSLATE_APPEND)
#undef ROOFSLATE_APPEND

    Registry::Registry()
    {
#define ROOFSLATE_APPEND(theme) append_##theme(entries_);
        ROOFSLATE_THEMES(ROOFSLATE_APPEND)
#undef ROOFSLATE_APPEND
        for (int i = 0; i < size(); ++i)
            if (!index_.emplace(entries_[std::size_t(i)].name, i).second)
                throw std::logic_error("two quantities are called " + std::string(entries_[std::size_t(i)].name));
        for (Entry& e : entries_)
        {
            for (const std::string_view need : e.need_names)
                e.needs.push_back(at(need));
            if (!e.spec->fallback.empty())
                e.fallback = at(e.spec->fallback);
            if (!e.spec->bound.empty())
                e.bound = at(e.spec->bound);
        }
    }
    int Registry::find(std::string_view name) const
    {
        const auto it = index_.find(name);
        return it == index_.end() ? -1 : it->second;
    }
    int Registry::at(std::string_view name) const
    {
        const int i = find(name);
        if (i < 0)
            throw unknown_name("unknown quantity '" + std::string(name) + "'");
        return i;
    }
    const Registry& registry()
    {
        static const Registry r;
        return r;
    }
    std::string formula_of_entry(const Entry& entry, Notation notation)
    {
        if (!entry.computed())
            return "";
        std::vector<std::string> symbols;
        for (const int need : entry.needs)
            symbols.emplace_back(notation == Notation::latex ? registry()[need].spec->symbol : std::string(registry()[need].name));
        const std::string left = notation == Notation::latex ? entry.spec->symbol : std::string(entry.name);
        return left + " = " + print(entry.tape, entry.root, symbols, notation);
    }
}
