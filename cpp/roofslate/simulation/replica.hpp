// State of a simulated replica: running, waiting and prefilling requests, and the step under way.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

namespace roofslate::simulation
{
    constexpr std::int64_t no_row = -1, no_session = -1;
    constexpr std::int32_t nobody = -1;
    constexpr double not_yet = -1;

    struct Request
    {
        double arrival = 0, reached = 0, start = not_yet, first_token = not_yet;
        double input = 0, output = 1, hit = 0;
        double context = 0; // tokens that must be in the KV cache for its next token
        double unread = 0;  // tokens of it that must be read first
        double read = 0;    // of them: those that were
        double steps = 0;   // that it still takes, before it joins
        double joined = 0;  // count of its replica's steps then
        double end_count = 0;
        std::int64_t row = no_row, session = no_session;
        std::uint32_t epoch = 0; // of its entries among the ends: older ones are void
        std::int32_t replica = 0;
        int preemptions = 0;
        bool waited = false;
        bool is_loaded = false; // its prefix has come from its tier, or there is none
    };
    struct Session // that is generated
    { double turns = 0, context = 0; };
    enum class Late
    {
        turn,    // of a session
        reached, // a replica, after its prompt was read apart or its prefix was fetched
        read     // by its own group of a replica's chips, while others worked on other prompts
    };
    struct Due // what happens to a request later
    {
        double time;
        std::int64_t order;
        std::int32_t index; // of the request or the session
        Late what;
        bool operator>(const Due& due) const { return time != due.time ? time > due.time : order > due.order; }
    };
    struct End
    {
        double count;
        std::int32_t request;
        std::uint32_t epoch;
        bool operator>(const End& end) const { return count != end.count ? count > end.count : request > end.request; }
    };
    struct Group // sequences that had their last token together, while decoding pauses
    { double time, sequences; };
    struct Ready // had its first token while a step was under way
    {
        double time;
        std::int32_t request;
    };
    enum class Step
    {
        idle,
        decode, // a number of steps alike
        mixed,
        prompts
    };
    struct Replica
    {
        Step step = Step::idle;
        double start = 0, seconds = 0, planned = 0; // of the steps under way
        double count = 0;                           // steps that decoded
        double used = 0;                            // tokens in the KV cache
        double chunk = 0;
        std::size_t decoding = 0;
        std::size_t lagging = 0; // prompts that their own group still reads
        double fresh = 0; // of them: those without a token yet
        bool was_full = false;
        std::vector<End> ends{};
        std::deque<std::int32_t> waiting{}, reading{};
        std::vector<std::int32_t> finishing{}; // prompts that the step completes
        std::vector<std::int32_t> joined{};    // sequences whose first token the next decoding step makes
        std::vector<Ready> ready{};            // sequences that first decode in the next step
        std::vector<End> order{};              // of joining, if the KV cache has a limit
        std::vector<Group> groups{};
        double seats_taken() const
        { return double(decoding + lagging + ready.size() + reading.size() + finishing.size()); }
        double present() const { return seats_taken() + double(waiting.size()); }
    };
}
