// Sessions: turns that share a growing prefix, the prefix cache that keeps it between turns, and its hit rates.
#pragma once
#include "roofslate/language/normal.hpp"
#include "roofslate/quantities/requests.hpp"

namespace roofslate::quantities
{
    struct replicas;
    struct router;

    // Residence time of a session in an LRU prefix cache after its last turn (Che's approximation): the root t of
    // q E min(T, t) + (1 - q) t = x, with pauses T lognormal of mean 1, q the chance of another turn, and x the
    // capacity relative to the bytes that all sessions write in a mean pause. Newton's method from the left of the
    // root of a concave function.
    struct session_residence
    {
        static constexpr const char* name = "session_residence";
        static constexpr const char* latex = "t_\\mathrm{LRU}";
        static constexpr int arity = 3;
        static constexpr std::array<signed char, 3> directions{1, 1, 1};
        static constexpr std::array<double, 3> least{-HUGE_VAL, 0, 0};
        struct by_capacity;
        struct by_return;
        struct by_cv;
        using partials = list<by_capacity, by_return, by_cv>;
        static constexpr Dimension dimension(const Dimension& capacity, const Dimension& q, const Dimension& cv)
        { return capacity * q * cv; }

        static double value(double capacity, double q, double cv)
        {
            if (!(q >= 0 && q <= 1 && cv >= 0) || capacity != capacity)
                return std::numeric_limits<double>::quiet_NaN();
            if (capacity <= 0)
                return 0;
            if (capacity > DBL_MAX || (q == 1 && capacity >= 1))
                return infinite;
            const Lognormal pause(cv);
            double t = capacity;
            for (int i = 0; i < 500; ++i)
            {
                const double step = lacking(pause, capacity, q, t) / slope(pause, q, t);
                if (!(step > 1e-16 * t))
                    break;
                t += step;
            }
            return t;
        }

    private:
        static double lacking(const Lognormal& pause, double capacity, double q, double t)
        {
            if (t < 1)
                return capacity - (q * pause.mean_least(t) + (1 - q) * t);
            return (capacity - q) + q * pause.mean_excess(t) - (1 - q) * t;
        }
        static double slope(const Lognormal& pause, double q, double t) { return q * pause.share_above(t) + (1 - q); }
    };
    struct session_residence::by_capacity
    {
        static constexpr const char* name = "session_residence_by_capacity";
        static constexpr const char* latex = "\\partial t_\\mathrm{LRU}/\\partial x";
        static constexpr int arity = 3;

        static double value(double capacity, double q, double cv)
        {
            const double t = session_residence::value(capacity, q, cv);
            if (t != t || t > DBL_MAX)
                return t != t ? t : 0;
            return 1 / slope(Lognormal(cv), q, t);
        }
    };
    struct session_residence::by_return
    {
        static constexpr const char* name = "session_residence_by_return";
        static constexpr const char* latex = "\\partial t_\\mathrm{LRU}/\\partial q";
        static constexpr int arity = 3;

        static double value(double capacity, double q, double cv)
        {
            const double t = session_residence::value(capacity, q, cv);
            if (t != t || t > DBL_MAX)
                return t != t ? t : 0;
            const Lognormal pause(cv);
            return (t - pause.mean_least(t)) / slope(pause, q, t);
        }
    };
    struct session_residence::by_cv
    {
        static constexpr const char* name = "session_residence_by_cv";
        static constexpr const char* latex = "\\partial t_\\mathrm{LRU}/\\partial c";
        static constexpr int arity = 3;

        static double value(double capacity, double q, double cv)
        {
            const double t = session_residence::value(capacity, q, cv);
            if (t != t || t > DBL_MAX)
                return t != t ? t : 0;
            const Lognormal pause(cv);
            return -q * pause.mean_least_by_cv(t) / slope(pause, q, t);
        }
    };

    // Share of a lognormal of mean 1 and this coefficient of variation below t.
    struct lognormal_share
    {
        static constexpr const char* name = "lognormal_share";
        static constexpr const char* latex = "F";
        static constexpr int arity = 2;
        static constexpr std::array<signed char, 3> directions{1, 0};
        static constexpr std::array<double, 3> least{-HUGE_VAL, 0};
        struct by_time;
        struct by_cv;
        using partials = list<by_time, by_cv>;
        static constexpr Dimension dimension(const Dimension& t, const Dimension& cv) { return t * cv; }

        // The deviate ln t / s + s / 2 rises with t. With s it does so below t = 1, else it falls to s^2 = 2 ln t
        // first.
        template <class T> static Limits<T> enclosure(const Limits<T>& t, const Limits<T>& cv)
        {
            const T zero(0.0), one(1.0);
            const auto least = [&](const T& at) {
                const T turn = sqrt(max(at * at - one, zero));
                return routine<lognormal_share>(at, min(max(turn, cv.low), cv.high));
            };
            const T low = least(t.low) * T(1 - 1e-12), well_below = least(t.low * T(0.999));
            const T high = max(routine<lognormal_share>(t.high, cv.low), routine<lognormal_share>(t.high, cv.high));
            return {select(well_below < one, low, one), high};
        }
        static double value(double t, double cv)
        {
            if (!(cv >= 0) || t != t)
                return std::numeric_limits<double>::quiet_NaN();
            return t > 0 ? Lognormal(cv).share_below(t) : 0;
        }
    };
    struct lognormal_share::by_time
    {
        static constexpr const char* name = "lognormal_share_by_time";
        static constexpr const char* latex = "\\partial F/\\partial t";
        static constexpr int arity = 2;

        static double value(double t, double cv) { return cv >= 0 ? Lognormal(cv).density(t) : cv; }
    };
    struct lognormal_share::by_cv
    {
        static constexpr const char* name = "lognormal_share_by_cv";
        static constexpr const char* latex = "\\partial F/\\partial c";
        static constexpr int arity = 2;

        static double value(double t, double cv) { return cv >= 0 ? Lognormal(cv).share_below_by_cv(t) : cv; }
    };

    // --- a session: turns whose prompts repeat all that came before ---

    struct turns
    { static constexpr Spec spec = Spec("n_t", "1", "mean turns per session", "definition").range(1).by_default(1); };
    struct turns_distribution
    {
        static constexpr Spec spec =
            Spec("\\sigma_t", "1", "distribution of turns per session (geometric, fixed)", "definition")
                .one_of("geometric", "fixed")
                .by_default(0);
    };
    struct first_prompt_tokens
    {
        static constexpr Spec spec =
            Spec(
                "I_0",
                "token/sequence",
                "input tokens before the first turn (system prompt, tools, files)",
                "definition")
                .range(0)
                .by_default(0);
    };
    struct shared_prompt_tokens
    {
        static constexpr Spec spec =
            Spec("I_s", "token/sequence", "input tokens shared by all sessions, always cached", "definition")
                .range(0)
                .by_default(0)
                .at_most<first_prompt_tokens>();
    };
    struct turn_input_tokens
    {
        static constexpr Spec spec =
            Spec("I_t", "token/sequence", "new input tokens per turn (user message, tool result)", "definition")
                .range(0);
    };
    struct kept_output_share
    {
        static constexpr Spec spec =
            Spec("\\eta_O", "1", "fraction of output kept in later prompts, reasoning may be dropped", "definition")
                .range(0, 1)
                .by_default(1);
    };
    struct next_turn_probability
    {
        static constexpr Spec spec =
            Spec("q_t", "1", "probability of another turn in the session", "definition").range(0, 1);
        template <class T> static constexpr T formula(in<turns, T> n) { return 1.0 - 1.0 / n; }
    };
    struct mean_earlier_turns
    {
        static constexpr Spec spec = Spec("m_t", "1", "mean earlier turns in the prompt of a turn", "definition");
        template <class T> static constexpr T formula(in<turns, T> n, in<turns_distribution, T> which)
        { return choose(which, n - 1.0, (n - 1.0) / 2.0); }
    };
    // Tokens by which a prompt grows from one turn to the next.
    template <class T> constexpr auto turn_growth(
        in<turn_input_tokens, T> I_t,
        in<kept_output_share, T> kept_share,
        in<output_tokens, T> O)
    { return I_t + kept_share * O; }
    // New tokens of a later turn. If part of an answer is dropped, the tokens behind it are prefilled again.
    template <class T> constexpr auto later_turn_tokens(
        in<turn_input_tokens, T> I_t,
        in<kept_output_share, T> kept_share,
        in<output_tokens, T> O)
    { return select(kept_share == T(1.0), T(I_t), turn_growth<T>(I_t, kept_share, O)); }
    struct turn_prompt_tokens
    {
        static constexpr Spec spec =
            Spec("I_n", "token/sequence", "mean input tokens per turn, history included", "definition");
        template <class T> static constexpr T formula(
            in<turn_input_tokens, T> I_t,
            in<first_prompt_tokens, T> I_0,
            in<mean_earlier_turns, T> m,
            in<kept_output_share, T> kept_share,
            in<output_tokens, T> O)
        { return I_t + I_0 + spend(m, turn_growth<T>(I_t, kept_share, O)); }
    };
    struct session_prompt_tokens
    {
        static constexpr Spec spec =
            Spec("I_\\Sigma", "token/sequence", "input tokens per session, all turns", "definition");
        template <class T> static constexpr T formula(in<turns, T> n, in<input_tokens, T> I) { return n * I; }
    };
    struct new_prompt_tokens
    {
        static constexpr Spec spec = Spec(
            "I_\\mathrm{new}",
            "token/sequence",
            "mean uncached input tokens per turn, unlimited prefix cache",
            "definition");
        template <class T> static constexpr T formula(
            in<turns, T> n,
            in<next_turn_probability, T> q,
            in<turn_input_tokens, T> I_t,
            in<first_prompt_tokens, T> I_0,
            in<shared_prompt_tokens, T> I_s,
            in<kept_output_share, T> kept_share,
            in<output_tokens, T> O)
        { return (I_t + (I_0 - I_s)) / n + q * later_turn_tokens<T>(I_t, kept_share, O); }
    };
    struct prefix_hit_ceiling
    {
        static constexpr Spec spec =
            Spec("h_\\infty", "1", "prefix cache hit rate by tokens, unlimited prefix cache", "definition");
        template <class T> static constexpr T formula(in<input_tokens, T> I, in<new_prompt_tokens, T> I_new)
        { return max(1.0 - I_new / I, 0.0); }
    };

    // --- return rate of sessions, and the size of their KV cache ---

    struct session_rate_from_arrivals
    {
        static constexpr Spec spec =
            Spec("\\Lambda/n_t", "sequence/s", "session start rate from the request arrival rate", "definition");
        template <class T> static constexpr T formula(in<arrival_rate, T> a, in<turns, T> n) { return a / n; }
    };
    struct session_rate
    {
        static constexpr Spec spec =
            Spec("\\Lambda_s", "sequence/s", "session start rate", "definition")
                .range(0)
                .otherwise<session_rate_from_arrivals>();
    };
    struct turn_rate
    {
        static constexpr Spec spec = Spec("\\Lambda_s n_t", "sequence/s", "turn rate, all sessions", "definition");
        template <class T> static constexpr T formula(in<session_rate, T> rate, in<turns, T> n) { return rate * n; }
    };
    struct replica_turn_rate
    {
        static constexpr Spec spec = Spec(
            "\\Lambda_s n_t / R",
            "sequence/s",
            "turn rate per replica, each with its own prefix cache",
            "definition");
        template <class T> static constexpr T formula(in<turn_rate, T> rate, in<replicas, T> R) { return rate / R; }
    };
    struct pause_time
    {
        static constexpr Spec spec =
            Spec("T_p", "s", "mean pause between turns (think time, tool time)", "definition").positive();
    };
    struct pause_cv
    {
        static constexpr Spec spec =
            Spec("c_p", "1", "coefficient of variation (CV) of pauses, lognormal", "definition").range(0).by_default(1);
    };
    struct pausing_sessions
    {
        static constexpr Spec spec = Spec("n_p", "sequence", "mean sessions paused between turns", "definition");
        template <class T> static constexpr T formula(
            in<turn_rate, T> rate,
            in<next_turn_probability, T> q,
            in<pause_time, T> pause)
        { return rate * q * pause; }
    };
    struct session_kv_bytes
    {
        static constexpr Spec spec =
            Spec("S_s", "byte/sequence", "mean KV cache per session after a turn", "definition").positive();
        template <class T> static constexpr T formula(
            in<input_tokens, T> I,
            in<output_tokens, T> O,
            in<kv_bytes_per_token, T> q,
            in<kv_stored_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> w,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        {
            const T length = I + O;
            return kv_stored_bytes::formula<
                T>(q, k, share, as<context_length>(length), as<windowed_tokens>(min(length, w)), q_i, S_0);
        }
    };
    struct session_kv_bytes_per_pause
    {
        static constexpr Spec spec =
            Spec("\\Lambda_s n_t S_s T_p", "byte", "KV cache written per replica during a mean pause", "definition");
        template <class T> static constexpr T formula(
            in<replica_turn_rate, T> rate,
            in<session_kv_bytes, T> S_s,
            in<pause_time, T> pause)
        { return rate * S_s * pause; }
    };

    // --- tiers of the prefix cache: HBM not used by running sequences, host memory, SSD ---

    struct dram_prefix_cache
    {
        static constexpr Spec spec =
            Spec("C_d", "byte", "host memory reserved for cached prefixes, per replica", "definition")
                .range(0, infinite)
                .by_default(0);
    };
    struct ssd_prefix_cache
    {
        static constexpr Spec spec =
            Spec("C_s", "byte", "SSD or remote storage for cached prefixes, per replica", "definition")
                .range(0, infinite)
                .by_default(0);
    };
    struct prefix_cache_capacity
    {
        static constexpr Spec spec =
            Spec("C_p", "byte", "prefix cache capacity per replica, all tiers, inf if unlimited", "definition")
                .range(0, infinite);
        template <class T> static constexpr T formula(
            in<hbm_prefix_cache, T> C_h,
            in<dram_prefix_cache, T> C_d,
            in<ssd_prefix_cache, T> C_s)
        { return C_h + C_d + C_s; }
    };
    struct cache_residence_time
    {
        static constexpr Spec spec =
            Spec("t^*", "s", "residence time of an unused prefix (LRU, Che approximation)", "Che, Tung, Wang 2002");
        template <class T> static constexpr T formula(
            in<prefix_cache_capacity, T> C,
            in<session_kv_bytes_per_pause, T> W,
            in<next_turn_probability, T> q,
            in<pause_time, T> pause,
            in<pause_cv, T> cv)
        { return pause * routine<session_residence>(C / W, q, cv); }
    };
    struct cache_survival_rate
    {
        static constexpr Spec spec =
            Spec("F(t^*)", "1", "fraction of pauses shorter than the prefix residence time", "Che, Tung, Wang 2002");
        template <class T> static constexpr T formula(
            in<prefix_cache_capacity, T> C,
            in<cache_residence_time, T> t,
            in<pause_time, T> pause,
            in<pause_cv, T> cv)
        {
            const T share = routine<lognormal_share>(t / pause, cv);
            return select(C == T(0.0), T(0.0), select(C == T(infinite), T(1.0), share));
        }
    };
    // The same for the faster tiers only.
    template <class T> constexpr auto survival_within(
        const number_of<T>& capacity,
        in<session_kv_bytes_per_pause, T> W,
        in<next_turn_probability, T> q,
        in<pause_cv, T> cv)
    {
        const T share = routine<lognormal_share>(routine<session_residence>(capacity / W, q, cv), cv);
        return select(capacity == T(0.0), T(0.0), select(capacity == T(infinite), T(1.0), share));
    }

    // --- hits, by turns and by tokens ---

    struct session_affinity
    {
        static constexpr Spec spec =
            Spec("\\eta_r", "1", "probability of routing a turn to the replica with its prefix", "definition")
                .range(0, 1);
        template <class T> static constexpr T formula(in<router, T> which, in<replicas, T> R)
        { return select(is<router>(which, "session"), T(1.0), 1.0 / R); }
    };
    struct prefix_break_rate
    {
        static constexpr Spec spec =
            Spec("\\beta_x", "1", "fraction of turns with a changed prefix (compaction, edits)", "definition")
                .range(0, 1)
                .by_default(0);
    };
    struct prefix_match_rate
    {
        static constexpr Spec spec = Spec(
            "\\eta_r (1 - \\beta_x)",
            "1",
            "fraction of later turns with a match, unlimited prefix cache",
            "definition");
        template <class T> static constexpr T formula(in<session_affinity, T> affinity, in<prefix_break_rate, T> broken)
        { return affinity * (1.0 - broken); }
    };
    struct turn_hit_rate
    {
        static constexpr Spec spec =
            Spec("h_t", "1", "fraction of later turns with a cached prefix", "definition").range(0, 1);
        template <class T> static constexpr T formula(in<cache_survival_rate, T> F, in<prefix_match_rate, T> match)
        { return spend(F, match); }
    };
    struct session_hit_rate
    {
        static constexpr Spec spec = Spec("h_s", "1", "prefix cache hit rate of sessions, by tokens", "definition");
        template <class T> static constexpr T formula(
            in<turns, T> n,
            in<prefix_hit_ceiling, T> most,
            in<turn_hit_rate, T> h,
            in<shared_prompt_tokens, T> I_s,
            in<input_tokens, T> I)
        { return select(n == T(1.0), spend(I_s, 1.0 / I), spend_beside(spend(h, most), I_s, (1.0 - h) / I)); }
    };
    struct request_hit_rate
    {
        static constexpr Spec spec = Spec("h_r", "1", "fraction of requests with a cached prefix", "definition");
        template <class T> static constexpr T formula(
            in<next_turn_probability, T> q,
            in<turn_hit_rate, T> h,
            in<shared_prompt_tokens, T> I_s)
        { return select(I_s > T(0.0), T(1.0), q * h); }
    };

    // --- the mixture of hits and misses ---

    // Variance of the earlier turns of a turn drawn by chance.
    template <class T> constexpr auto variance_of_earlier_turns(in<turns, T> n, in<turns_distribution, T> which)
    { return choose(which, n * (n - 1.0), (n * n - 1.0) / 12.0); }
    struct turn_prompt_cv
    {
        static constexpr Spec spec =
            Spec("c_n", "1", "coefficient of variation (CV) of input tokens across turns", "definition");
        template <class T> static constexpr T formula(
            in<turns, T> n,
            in<turns_distribution, T> which,
            in<turn_prompt_tokens, T> I,
            in<turn_input_tokens, T> I_t,
            in<kept_output_share, T> kept_share,
            in<output_tokens, T> O)
        {
            const T spread = sqrt(variance_of_earlier_turns<T>(n, which)) * turn_growth<T>(I_t, kept_share, O) / I;
            return select(n == T(1.0), T(0.0), spread);
        }
    };
    struct session_fresh_input_cv
    {
        // A turn is the first one, finds its history cached, or prefills all of it again.
        static constexpr Spec spec =
            Spec("c_{ft}", "1", "coefficient of variation (CV) of uncached input tokens across turns", "definition");
        template <class T> static constexpr T formula(
            in<turns, T> n,
            in<turns_distribution, T> which,
            in<mean_earlier_turns, T> earlier,
            in<next_turn_probability, T> q,
            in<prefix_hit_rate, T> hit_rate,
            in<prefix_hit_ceiling, T> most,
            in<input_tokens, T> I,
            in<first_prompt_tokens, T> I_0,
            in<shared_prompt_tokens, T> I_s,
            in<turn_input_tokens, T> I_t,
            in<input_cv, T> c_i,
            in<kept_output_share, T> kept_share,
            in<output_tokens, T> O,
            in<output_cv, T> c_o)
        {
            const T shared = I_s / I;
            const T hits = named("hits", "h_c", min(max((hit_rate - shared) / max(most - shared, 1e-300), 0.0), 1.0));
            const T first = named("first", "F", I_t + (I_0 - I_s));
            const T grows = named("growth", "g", turn_growth<T>(I_t, kept_share, O));
            const T hit = named("hit", "F_h", later_turn_tokens<T>(I_t, kept_share, O));
            const T mean =
                named("mean", "M", first / n + q * (hits * hit) + (1.0 - hits) * (q * first + grows * earlier));
            const T beyond = named("beyond", "\\delta", first - mean),
                    squares = variance_of_earlier_turns<T>(n, which) + earlier * earlier;
            const T missed = q * (beyond * beyond) + 2.0 * (beyond * grows) * earlier + grows * grows * squares;
            const T over_turns = beyond * beyond / n + q * hits * ((hit - mean) * (hit - mean)) + (1.0 - hits) * missed;
            const T again = named("again", "a", (1.0 - hits) * earlier),
                    of_input = (c_i * I_t) * (c_i * I_t) * (1.0 + again),
                    of_output = (c_o * kept_share * O) * (c_o * kept_share * O)
                * (again + select(kept_share == T(1.0), T(0.0), q * hits));
            return sqrt(over_turns + of_input + of_output) / mean;
        }
    };
    struct fresh_input_cv
    {
        static constexpr Spec spec =
            Spec("c_f", "1", "coefficient of variation (CV) of uncached input tokens", "definition")
                .replaced_by_where<session_fresh_input_cv, turn_input_tokens>();
        template <class T> static constexpr T formula(in<input_cv, T> c) { return c; }
    };

    // --- tiers: how much each serves, and the time to fetch it ---

    struct hbm_hit_rate
    {
        static constexpr Spec spec =
            Spec("h_h", "1", "fraction of later turns with their prefix in HBM", "Che, Tung, Wang 2002");
        template <class T> static constexpr T formula(
            in<hbm_prefix_cache, T> C_h,
            in<session_kv_bytes_per_pause, T> W,
            in<next_turn_probability, T> q,
            in<pause_cv, T> cv,
            in<prefix_match_rate, T> match)
        { return spend(survival_within<T>(C_h, W, q, cv), match); }
    };
    struct dram_hit_rate
    {
        static constexpr Spec spec =
            Spec("h_d", "1", "fraction of later turns with their prefix in host memory", "Che, Tung, Wang 2002");
        template <class T> static constexpr T formula(
            in<hbm_prefix_cache, T> C_h,
            in<dram_prefix_cache, T> C_d,
            in<session_kv_bytes_per_pause, T> W,
            in<next_turn_probability, T> q,
            in<pause_cv, T> cv,
            in<prefix_match_rate, T> match,
            in<hbm_hit_rate, T> h_h)
        {
            const T both = survival_within<T>(C_h + C_d, W, q, cv) * match;
            return select(C_d == T(0.0), T(0.0), max(both - h_h, 0.0));
        }
    };
    struct ssd_hit_rate
    {
        static constexpr Spec spec =
            Spec("h_s", "1", "fraction of later turns with their prefix in the slowest tier", "Che, Tung, Wang 2002");
        template <class T> static constexpr T formula(
            in<turn_hit_rate, T> h,
            in<hbm_hit_rate, T> h_h,
            in<dram_hit_rate, T> h_d)
        { return max(h - h_h - h_d, 0.0); }
    };
    struct dram_cache_bandwidth
    {
        static constexpr Spec spec =
            Spec("m_d", "byte/s", "read bandwidth from host memory to a replica, all chips", "definition")
                .positive()
                .otherwise<replica_host_bandwidth>();
    };
    struct ssd_cache_bandwidth
    {
        static constexpr Spec spec =
            Spec("m_s", "byte/s", "read bandwidth from the slowest tier to a replica, all chips", "definition")
                .positive();
    };
    struct reused_prompt_tokens
    {
        static constexpr Spec spec =
            Spec("I_r", "token/sequence", "mean input tokens reused per prefix cache hit", "definition");
        template <class T> static constexpr T formula(
            in<input_tokens, T> I,
            in<new_prompt_tokens, T> I_new,
            in<next_turn_probability, T> q)
        { return max(I - I_new, 0.0) / q; }
    };
    struct reused_kv_bytes
    {
        static constexpr Spec spec =
            Spec("S_r", "byte/sequence", "KV cache loaded per prefix cache hit from a slower tier", "definition");
        template <class T> static constexpr T formula(
            in<reused_prompt_tokens, T> L,
            in<kv_bytes_per_token, T> q,
            in<kv_stored_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> w,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        {
            return kv_stored_bytes::formula<
                T>(q, k, share, as<context_length>(L), as<windowed_tokens>(min(L, w)), q_i, S_0);
        }
    };
    struct exposed_prefix_load_time
    {
        static constexpr Spec spec =
            Spec("T_{lx}", "s", "mean exposed prefix load time per turn, not hidden by prefill", "definition");
        template <class T> static constexpr T formula(
            in<turns, T> n,
            in<next_turn_probability, T> q,
            in<dram_hit_rate, T> h_d,
            in<ssd_hit_rate, T> h_s,
            in<reused_kv_bytes, T> S_r,
            in<dram_cache_bandwidth, T> m_d,
            in<ssd_cache_bandwidth, T> m_s,
            in<prompt_batch, T> B_p,
            in<prefill_latency, T> t_p,
            in<fresh_input_tokens, T> I_f,
            in<turn_input_tokens, T> I_t,
            in<kept_output_share, T> kept_share,
            in<output_tokens, T> O)
        {
            const T hidden = t_p * min(later_turn_tokens<T>(I_t, kept_share, O) / I_f, 1.0); // layers stream
            const T from_dram = spend(h_d, max(S_r * B_p / m_d - hidden, 0.0));
            const T from_ssd = spend(h_s, max(S_r * B_p / m_s - hidden, 0.0));
            return select(n == T(1.0), T(0.0), q * (from_dram + from_ssd));
        }
    };
    struct dram_fetch_rate
    {
        static constexpr Spec spec =
            Spec("b_d", "byte/s", "KV-cache read rate from host memory, per replica", "definition");
        template <class T> static constexpr T formula(
            in<replica_turn_rate, T> rate,
            in<next_turn_probability, T> q,
            in<dram_hit_rate, T> h_d,
            in<reused_kv_bytes, T> S_r)
        { return spend(h_d, rate * q * S_r); }
    };
    struct ssd_fetch_rate
    {
        static constexpr Spec spec =
            Spec("b_s", "byte/s", "KV-cache read rate from the slowest tier, per replica", "definition");
        template <class T> static constexpr T formula(
            in<replica_turn_rate, T> rate,
            in<next_turn_probability, T> q,
            in<ssd_hit_rate, T> h_s,
            in<reused_kv_bytes, T> S_r)
        { return spend(h_s, rate * q * S_r); }
    };
    struct cache_link_load
    {
        static constexpr Spec spec =
            Spec("\\rho_l", "1", "link utilization of KV-cache reads, busiest tier", "definition");
        template <class T> static constexpr T formula(
            in<dram_fetch_rate, T> b_d,
            in<dram_cache_bandwidth, T> m_d,
            in<ssd_fetch_rate, T> b_s,
            in<ssd_cache_bandwidth, T> m_s)
        { return max(select(b_d == T(0.0), T(0.0), b_d / m_d), select(b_s == T(0.0), T(0.0), b_s / m_s)); }
    };
    struct break_even_fetch_bandwidth
    {
        static constexpr Spec spec =
            Spec("m^*", "byte/s", "break-even bandwidth, prefix load as fast as recompute", "definition");
        template <class T> static constexpr T formula(
            in<reused_kv_bytes, T> S_r,
            in<reused_prompt_tokens, T> I_r,
            in<prompt_batch, T> B_p,
            in<prefill_latency, T> t_p,
            in<fresh_input_tokens, T> I_f)
        { return S_r * B_p / (t_p * (I_r / I_f)); }
    };

    // --- the bill ---

    struct cost_per_session
    {
        static constexpr Spec spec =
            Spec("c_s", "USD/sequence", "cost per session, input and output tokens of all turns", "definition");
        template <class T> static constexpr T formula(in<turns, T> n, in<cost_per_request, T> c) { return n * c; }
    };

    using sessions = list<
        turns,
        turns_distribution,
        first_prompt_tokens,
        shared_prompt_tokens,
        turn_input_tokens,
        kept_output_share,
        next_turn_probability,
        mean_earlier_turns,
        turn_prompt_tokens,
        session_prompt_tokens,
        new_prompt_tokens,
        prefix_hit_ceiling,
        session_rate_from_arrivals,
        session_rate,
        turn_rate,
        replica_turn_rate,
        pause_time,
        pause_cv,
        pausing_sessions,
        session_kv_bytes,
        session_kv_bytes_per_pause,
        dram_prefix_cache,
        ssd_prefix_cache,
        prefix_cache_capacity,
        cache_residence_time,
        cache_survival_rate,
        session_affinity,
        prefix_break_rate,
        prefix_match_rate,
        turn_hit_rate,
        session_hit_rate,
        request_hit_rate,
        turn_prompt_cv,
        session_fresh_input_cv,
        fresh_input_cv,
        hbm_hit_rate,
        dram_hit_rate,
        ssd_hit_rate,
        dram_cache_bandwidth,
        ssd_cache_bandwidth,
        reused_prompt_tokens,
        reused_kv_bytes,
        exposed_prefix_load_time,
        dram_fetch_rate,
        ssd_fetch_rate,
        cache_link_load,
        break_even_fetch_bandwidth,
        cost_per_session>;
}
