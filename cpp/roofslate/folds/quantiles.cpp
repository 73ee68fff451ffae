#include "roofslate/folds/order_statistics.hpp"
#include "roofslate/folds/tile_fold.hpp"
#include <map>
#include <mutex>

namespace roofslate
{
    namespace
    {
        // Finds order statistics of one kept point: counts keys in slots of equal width, then collects what shares a
        // slot with one that is wanted, in narrower slots first where that would be too much.
        class Ranks
        {
        public:
            static constexpr std::size_t most_sorted = 1 << 17; // values of a kept point
            Ranks(TileFold& fold, const Range& range, int threads, Progress& progress)
                : fold_(fold), threads_(threads), progress_(progress)
            {
                whole_ = range.known()
                    ? Keys{key_of(range.low), key_of(range.high)}
                    : Keys{key_of(-HUGE_VAL), key_of(HUGE_VAL)};
            }
            // The values at these places of the sorted values, without NaN, for each q; n - 1 is asked for by
            // `place_of(q, n)`.
            std::vector<double> find(std::size_t kept_point, const std::vector<double>& q)
            {
                if (fold_.points() <= most_sorted)
                    return of_sorted(kept_point, q);
                std::vector<Stretch> stretches{{whole_, 0, {}}};
                count(kept_point, stretches);
                const std::int64_t n = total(stretches.front());
                std::vector<double> result;
                if (n == 0)
                    return std::vector<double>(3 * q.size(), NAN);
                const auto [places, between] = places_of(q, n);
                const std::map<std::int64_t, double> values = at(kept_point, stretches.front(), places);
                for (std::size_t k = 0; k < q.size(); ++k)
                    result.insert(result.end(), {values.at(places[2 * k]), values.at(places[2 * k + 1]), between[k]});
                return result;
            }

        private:
            static constexpr std::size_t slots = 1 << 15;
            static constexpr std::int64_t most_collected = 1 << 19;
            // For each q two places among n values, each repeated, and how far between them.
            std::pair<std::vector<std::int64_t>, std::vector<double>> places_of(
                const std::vector<double>& q,
                std::int64_t n) const
            {
                std::vector<std::int64_t> places;
                std::vector<double> between;
                const std::int64_t last = n * fold_.repeats() - 1;
                for (const double x : q)
                {
                    const double rank = x * double(last), before = std::floor(rank);
                    between.push_back(rank - before);
                    const std::int64_t low = std::min(std::int64_t(before), last), high = std::min(low + 1, last);
                    places.push_back(low / fold_.repeats()), places.push_back(high / fold_.repeats());
                }
                return {places, between};
            }
            std::vector<double> of_sorted(std::size_t kept_point, const std::vector<double>& q)
            {
                std::vector<double> all, result;
                fold_.reader().read(kept_point, 0, fold_.points(), [&](const double* values, std::size_t n) {
                    std::copy_if(values, values + n, std::back_inserter(all), [](double x) { return x == x; });
                });
                progress_.add(2 * fold_.points());
                if (all.empty())
                    return std::vector<double>(3 * q.size(), NAN);
                std::sort(all.begin(), all.end());
                const auto [places, between] = places_of(q, std::int64_t(all.size()));
                for (std::size_t k = 0; k < q.size(); ++k)
                    result.insert(
                        result.end(),
                        {all[std::size_t(places[2 * k])], all[std::size_t(places[2 * k + 1])], between[k]});
                return result;
            }
            struct Keys
            {
                std::int64_t low, high;
                int shift() const
                {
                    int s = 0;
                    while ((std::uint64_t(high) - std::uint64_t(low)) >> s >= slots)
                        ++s;
                    return s;
                }
            };
            struct Stretch
            {
                Keys keys;
                std::int64_t before; // values below it
                std::vector<std::int64_t> counts;
            };
            static std::int64_t total(const Stretch& s)
            {
                std::int64_t n = 0;
                for (const std::int64_t c : s.counts)
                    n += c;
                return n;
            }
            void count(std::size_t kept_point, std::vector<Stretch>& stretches)
            {
                struct Counts
                { std::vector<std::vector<std::uint32_t>> of; };
                std::vector<int> shifts;
                for (Stretch& s : stretches)
                    s.counts.assign(slots, 0), shifts.push_back(s.keys.shift());
                run(
                    kept_point,
                    [&] {
                        return Counts{std::vector<std::vector<std::uint32_t>>(
                            stretches.size(),
                            std::vector<std::uint32_t>(slots, 0))};
                    },
                    [&](Counts& counts, const double* values, std::size_t n) {
                        for (std::size_t k = 0; k < stretches.size(); ++k)
                        {
                            const std::uint64_t low = std::uint64_t(stretches[k].keys.low),
                                                width = std::uint64_t(stretches[k].keys.high) - low;
                            std::uint32_t* const to = counts.of[k].data();
                            for (std::size_t i = 0; i < n; ++i)
                                if (const std::uint64_t at = std::uint64_t(key_of(values[i])) - low;
                                    at <= width && values[i] == values[i])
                                    ++to[at >> shifts[k]];
                        }
                    },
                    [&](const Counts& counts) {
                        for (std::size_t k = 0; k < stretches.size(); ++k)
                            for (std::size_t i = 0; i < slots; ++i)
                                stretches[k].counts[i] += counts.of[k][i];
                    });
            }
            std::map<std::int64_t, double> at(
                std::size_t kept_point,
                const Stretch& full_range,
                const std::vector<std::int64_t>& places)
            {
                std::map<std::int64_t, double> result;
                std::vector<Stretch> open = narrowed(full_range, places);
                for (;;)
                {
                    std::vector<Stretch> wide, narrow;
                    std::int64_t collected = 0;
                    for (Stretch& s : open)
                    {
                        const std::int64_t n = s.counts.front(); // so far, all of its values
                        if (s.keys.low == s.keys.high)
                            for (const std::int64_t p : places)
                                if (p >= s.before && p < s.before + n)
                                    result[p] = value_of(s.keys.low);
                        if (s.keys.low == s.keys.high)
                            continue;
                        if (collected + n <= most_collected)
                            collected += n, narrow.push_back(std::move(s));
                        else
                            wide.push_back(std::move(s));
                    }
                    if (!narrow.empty())
                        collect(kept_point, narrow, places, result);
                    if (wide.empty())
                        return result;
                    count(kept_point, wide);
                    open.clear();
                    for (const Stretch& s : wide)
                        for (Stretch& part : narrowed(s, places))
                            open.push_back(std::move(part));
                }
            }
            // The slots with requested ranks. Each counts its values.
            static std::vector<Stretch> narrowed(const Stretch& s, const std::vector<std::int64_t>& places)
            {
                std::vector<Stretch> parts;
                const int shift = s.keys.shift();
                std::int64_t before = s.before;
                for (std::size_t k = 0; k < slots; ++k)
                {
                    const std::int64_t n = s.counts[k];
                    if (n && std::any_of(places.begin(), places.end(), [&](std::int64_t p) {
                            return p >= before && p < before + n;
                        }))
                    {
                        const std::int64_t low = std::int64_t(std::uint64_t(s.keys.low) + (std::uint64_t(k) << shift));
                        const std::uint64_t width_left = std::uint64_t(s.keys.high) - std::uint64_t(low),
                                            width = (std::uint64_t(1) << shift) - 1;
                        parts.push_back(
                            {{low, std::int64_t(std::uint64_t(low) + std::min(width_left, width))}, before, {n}});
                    }
                    before += n;
                }
                return parts;
            }
            void collect(
                std::size_t kept_point,
                const std::vector<Stretch>& stretches,
                const std::vector<std::int64_t>& places,
                std::map<std::int64_t, double>& result)
            {
                using Collected = std::vector<std::vector<double>>;
                Collected all(stretches.size());
                const InstructionSet& set = instruction_set();
                run(
                    kept_point,
                    [&] { return Collected(stretches.size()); },
                    [&](Collected& values_of, const double* values, std::size_t n) {
                        for (std::size_t k = 0; k < stretches.size(); ++k)
                        {
                            const double low = value_of(stretches[k].keys.low), high = value_of(stretches[k].keys.high);
                            append_within(set, values, n, low, high, values_of[k]);
                        }
                    },
                    [&](const Collected& values_of) {
                        for (std::size_t k = 0; k < stretches.size(); ++k)
                            all[k].insert(all[k].end(), values_of[k].begin(), values_of[k].end());
                    });
                for (std::size_t k = 0; k < stretches.size(); ++k)
                {
                    std::sort(all[k].begin(), all[k].end());
                    for (const std::int64_t p : places)
                        if (p >= stretches[k].before && p < stretches[k].before + std::int64_t(all[k].size()))
                            result[p] = all[k][std::size_t(p - stretches[k].before)];
                }
            }
            template <class MakeState, class TakeValues, class Done> void run(
                std::size_t kept_point,
                const MakeState& make_state,
                const TakeValues& take,
                const Done& done)
            {
                // each counts separately
                const std::size_t chunk =
                    fold_.chunk_of(fold_.points(), threads_, std::size_t(1) << 18, std::size_t(1) << 19);
                const std::size_t chunks = (fold_.points() + chunk - 1) / chunk;
                std::mutex mutex;
                in_parallel(
                    int(std::min<std::size_t>(std::size_t(threads_), chunks)),
                    chunks,
                    progress_,
                    [&] { return std::make_unique<TileFold::Reader>(fold_); },
                    [&](std::unique_ptr<TileFold::Reader>& reader, std::size_t c) {
                        auto state = make_state();
                        reader->read(
                            kept_point,
                            c * chunk,
                            std::min(fold_.points(), (c + 1) * chunk),
                            [&](const double* values, std::size_t n) { take(state, values, n); });
                        const std::lock_guard<std::mutex> lock(mutex);
                        done(state);
                        return std::size_t(0);
                    });
                progress_.add(fold_.points());
            }

            TileFold& fold_;
            int threads_;
            Progress& progress_;
            Keys whole_;
        };
    }

    std::vector<double> quantiles(const Question& question, const std::vector<double>& q, const Options& options)
    {
        if (!question.axes())
        {
            std::vector<double> all;
            const double value = question.graph[question.values.front()].value;
            for (std::size_t k = 0; k < q.size(); ++k)
                all.insert(all.end(), {value, value, 0.0});
            return all;
        }
        Progress progress(options, 2 * question.graph.points(question.axes()));
        TileFold fold(question, options, progress);
        const Range range = ranges(question.graph)[std::size_t(question.values.front())];
        const std::size_t kept_points = fold.kept();
        std::vector<double> all(kept_points * 3 * q.size());
        const auto find = [&](std::size_t point, int threads) {
            const std::vector<double> result = Ranks(fold, range, threads, progress).find(point, q);
            std::copy(result.begin(), result.end(), all.begin() + std::ptrdiff_t(point * result.size()));
        };
        const int threads = std::max(options.threads, 1);
        if (fold.points() > Ranks::most_sorted)
            for (std::size_t point = 0; point < kept_points; ++point)
                find(point, threads);
        else
            in_parallel(
                int(std::min<std::size_t>(std::size_t(threads), kept_points)),
                kept_points,
                progress,
                [] { return 0; },
                [&](int, std::size_t point) {
                    find(point, 1);
                    return std::size_t(0);
                });
        return all;
    }
}
