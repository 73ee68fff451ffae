// Prefix caches of sessions between their turns: least recently used first out, in tiers.
#pragma once
#include <cstdint>
#include <limits>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace roofslate::simulation
{
    // The KV cache of a replica. Sessions evicted from a tier move to the next one. The last tier drops them.
    class PrefixCache
    {
    public:
        explicit PrefixCache(const std::vector<double>& tiers) : tiers_(tiers.size())
        {
            for (std::size_t k = 0; k < tiers.size(); ++k)
                tiers_[k].capacity = tiers[k];
        }
        struct Hit
        {
            double tokens = 0;
            std::size_t tier = 0;
        };
        Hit find(std::int64_t session) const
        {
            const auto entry = where_.find(session);
            return entry == where_.end() ? Hit{} : Hit{entry->second->tokens, entry->second->tier};
        }
        // Removes a session: while it runs its tokens are not in the prefix cache.
        void take(std::int64_t session)
        {
            const auto known = where_.find(session);
            if (known == where_.end())
                return;
            const auto entry = known->second;
            Tier& tier = tiers_[entry->tier];
            tier.used -= entry->tokens;
            tier.entries.erase(entry);
            where_.erase(known);
        }
        void put(std::int64_t session, double tokens)
        {
            take(session);
            std::size_t first = 0; // a session larger than a tier skips it
            while (first < tiers_.size() && tokens > tiers_[first].capacity)
                ++first;
            if (first == tiers_.size())
                return;
            tiers_[first].entries.push_front({session, tokens, first});
            tiers_[first].used += tokens;
            where_[session] = tiers_[first].entries.begin();
            for (std::size_t k = first; k < tiers_.size(); ++k)
                while (tiers_[k].used > tiers_[k].capacity)
                    demote(k);
        }

    private:
        struct Entry
        {
            std::int64_t session;
            double tokens;
            std::size_t tier;
        };
        struct Tier
        {
            double capacity = std::numeric_limits<double>::infinity(), used = 0;
            std::list<Entry> entries{}; // most recently used first
        };
        void demote(std::size_t k)
        {
            Tier& tier = tiers_[k];
            const auto last = std::prev(tier.entries.end());
            tier.used -= last->tokens;
            if (k + 1 == tiers_.size())
            {
                where_.erase(last->session);
                tier.entries.erase(last);
                return;
            }
            Tier& next = tiers_[k + 1];
            last->tier = k + 1;
            next.used += last->tokens;
            next.entries.splice(next.entries.begin(), tier.entries, last);
        }

        std::vector<Tier> tiers_;
        std::unordered_map<std::int64_t, std::list<Entry>::iterator> where_{};
    };
}
