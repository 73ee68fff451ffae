#include "roofslate/run/parallel.hpp"
#include "roofslate/run/worker.hpp"

namespace roofslate
{
    namespace
    {
        constexpr std::size_t longest_segment = 65536;         // points of a row in one call of the machine
        // ... where they are inspected first: the next one is fetched meanwhile
        constexpr std::size_t inspected_segment = 512;
        // points a thread takes at a time: a huge page of results
        constexpr std::size_t chunk_points = 262144;
        constexpr std::size_t chunk_points_of_tables = 65536;  // ... where few rows are many bytes
        constexpr std::size_t chunk_points_of_routines = 1024; // ... where a point may take long
        constexpr std::size_t fewest_threaded_points = 32768;
        constexpr double long_pass = 1e5; // [ns] that are worth waking other threads
        // ... and of a small pass, of which each thread is to have several chunks
        constexpr std::size_t fewest_chunk_points = 2048, chunks_of_thread = 8;
        constexpr std::size_t fewest_streamed_bytes = std::size_t(8) << 20; // smaller results are left in the CPU cache

        double nanoseconds_of_point(const Pass& pass) // roughly
        {
            double all = 0;
            for (const Instruction& q : pass.program)
                switch (q.code)
                {
                case Code::call: all += q.operation == Op::exp || q.operation == Op::log ? 2 : 4; break;
                case Code::square_root:
                case Code::divide:
                case Code::divide_into: all += 0.4; break;
                default: all += 0.06;
                }
            return all;
        }
        // Points of a chunk, in whole cache lines, so that each thread has several.
        std::size_t share_of_points(std::size_t points, std::size_t threads, std::size_t most)
        {
            const std::size_t share = points / (chunks_of_thread * threads) / 64 * 64;
            return std::min(std::max(share, fewest_chunk_points), most);
        }
    }

    void run_pass(Pass& pass, const Graph& graph, const InstructionSet& set, const Options& options, Progress& progress)
    {
        bool gathers = lay_out_arrays(pass, graph, set);
        std::size_t bytes = 0;
        bool used_before = true;
        for (const Output& o : pass.outputs)
        {
            bytes += pass.rows * pass.row * size_of(o.storage);
            used_before = used_before && o.used_before;
            gathers = gathers || (!pass.inner.empty() && o.stride[std::size_t(pass.inner.back())] != 1);
        }
        const std::size_t points = pass.rows * pass.row;
        const std::size_t most_threads =
            points < fewest_threaded_points && !pass.has_routine ? 1 : std::size_t(std::max(options.threads, 1));
        const std::size_t wanted_chunk = pass.has_routine ? chunk_points_of_routines
            : most_threads == 1
            ? chunk_points
            : share_of_points(points, most_threads, options.inspect ? chunk_points_of_tables : chunk_points);
        const std::size_t segment = std::max<std::size_t>(
            1,
            std::min(
                {pass.row,
                 wanted_chunk,
                 gathers               ? gathered_segment
                     : options.inspect ? inspected_segment
                                       : longest_segment}));
        const std::size_t units = pass.rows * ((pass.row + segment - 1) / segment);
        const std::size_t chunk = std::max<std::size_t>(1, wanted_chunk / segment);
        const std::size_t chunks = (units + chunk - 1) / chunk;
        const bool stream = used_before && bytes >= fewest_streamed_bytes;
        const int threads = int(std::min(most_threads, chunks));

        const auto work = [&](Worker& worker, std::size_t c) {
            const std::size_t last = std::min(units, (c + 1) * chunk);
            if (!options.inspect)
                worker.run(c * chunk, last, segment);
            else
                for (std::size_t unit = c * chunk; unit < last; ++unit)
                {
                    options.inspect(unit * segment, std::min((unit + 1) * segment, pass.row));
                    worker.run(unit, unit + 1, segment);
                }
            if (stream)
                set.fence();
            return (last - c * chunk) * segment;
        };
        in_parallel(
            threads,
            chunks,
            progress,
            [&] { return Worker(pass, graph, set, stream, options.inspect ? segment : 0); },
            work,
            pass.has_routine || double(points) * nanoseconds_of_point(pass) > long_pass);
    }

    void store(const Graph& graph, const std::vector<Output>& outputs, const Options& options)
    {
        const InstructionSet& set = instruction_set();
        std::array<std::byte, 65536> buffer;
        std::pmr::monotonic_buffer_resource arena(buffer.data(), buffer.size());
        Plan plan = make_plan(graph, outputs, set, &arena);
        for (const Output& o : plan.constants)
            with_type(o.storage, [&](auto stored) {
                *static_cast<typename decltype(stored)::type*>(o.data) = stored.of(graph[o.node].value);
            });
        std::size_t total = 0;
        for (const Pass& p : plan.passes)
            total += p.rows * p.row;
        Progress progress(options, total);
        for (Pass& p : plan.passes)
            run_pass(p, graph, set, options, progress);
    }
}
