#include <roofslate/error.hpp>
#include <roofslate/sinks.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>
#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace roofslate
{
    namespace
    {
        constexpr std::size_t longest_segment = 65536;         // points of a row in one call of the machine
        constexpr std::size_t inspected_segment = 512;          // ... where they are inspected first: the next one is fetched meanwhile
        constexpr std::size_t gathered_segment = 2048;         // ... where arrays must be gathered
        constexpr std::size_t chunk_points = 262144;           // points a thread takes at a time: a huge page of results
        constexpr std::size_t chunk_points_of_tables = 65536;  // ... where few rows are many bytes
        constexpr std::size_t chunk_points_of_routines = 1024; // ... where a point may take long
        constexpr std::size_t fewest_threaded_points = 131072;
        constexpr std::size_t fewest_streamed_bytes = std::size_t(8) << 20; // smaller results are left in the cache

        // Walks along the axes of a grid, the last one fastest.
        class Odometer
        {
        public:
            Odometer(const List<int>& axes, const std::vector<std::size_t>& shape, Arena* arena) : axes_(axes), shape_(shape), at_(axes.size(), 0, arena) {}
            void go_to(std::size_t row)
            {
                for (std::size_t d = axes_.size(); d-- > 0;)
                {
                    at_[d] = row % length(d);
                    row /= length(d);
                }
            }
            std::size_t next() // the slowest loop that moved
            {
                for (std::size_t d = axes_.size(); d-- > 0;)
                {
                    if (++at_[d] < length(d))
                        return d;
                    at_[d] = 0;
                }
                return 0;
            }
            template <class Strides> std::ptrdiff_t offset(const Strides& stride) const
            {
                std::ptrdiff_t o = 0;
                for (std::size_t d = 0; d < axes_.size(); ++d)
                    o += std::ptrdiff_t(at_[d]) * stride[std::size_t(axes_[d])];
                return o;
            }

        private:
            std::size_t length(std::size_t d) const { return shape_[std::size_t(axes_[d])]; }
            const List<int>& axes_;
            const std::vector<std::size_t>& shape_;
            List<std::size_t> at_;
        };

        // Writes an array point by point over the axes from `d` on, `n` points; repeated parts are copied as a whole.
        void copy_spread(double* to, const double* from, const std::array<std::ptrdiff_t, most_axes>& stride, const List<int>& axes, std::size_t d, std::size_t n, const Graph& graph)
        {
            const std::size_t length = graph.shape()[std::size_t(axes[d])], part = n / length;
            const std::ptrdiff_t step = stride[std::size_t(axes[d])];
            if (part == 1)
                for (std::size_t i = 0; i < length; ++i)
                    to[i] = from[std::ptrdiff_t(i) * step];
            else if (step)
                for (std::size_t i = 0; i < length; ++i)
                    copy_spread(to + i * part, from + std::ptrdiff_t(i) * step, stride, axes, d + 1, part, graph);
            else
            {
                copy_spread(to, from, stride, axes, d + 1, part, graph);
                for (std::size_t done = part; done < n; done *= 2) // what is there, once more
                    std::copy_n(to, std::min(done, n - done), to + done);
            }
        }
        // Lays an array out so that it runs evenly along the row.
        void spread(Row& row, const Pass& pass, const Graph& graph)
        {
            List<int> axes(pass.outer.get_allocator());
            for (const int k : pass.outer)
                if (row.view.axes >> k & 1)
                    axes.push_back(k);
            const std::size_t own_outer = axes.size();
            axes.insert(axes.end(), pass.inner.begin(), pass.inner.end());
            std::size_t n = 1;
            std::array<std::ptrdiff_t, most_axes> stride{};
            for (std::size_t d = axes.size(); d-- > 0;)
            {
                if (d < own_outer)
                    stride[std::size_t(axes[d])] = std::ptrdiff_t(n);
                n *= graph.shape()[std::size_t(axes[d])];
            }
            row.copy = aligned_doubles(n);
            copy_spread(row.copy.get(), row.view.data, row.view.stride, axes, 0, n, graph);
            row.view.data = row.copy.get(), row.view.stride = stride, row.step = 1;
        }

        void invert(Row& row, const Row& of, const Pass& pass, const InstructionSet& set)
        {
            row.copy = aligned_doubles(pass.row);
            Instruction program[4];
            program[0].code = Code::load, program[0].operand.scalar = 1;
            program[1].code = Code::divide, program[1].operand = {of.view.data, 1, 0};
            program[2].code = Code::write, program[2].result = row.copy.get();
            set.run(program, 0, pass.row, false);
            row.view.data = row.copy.get();
        }

        // What one thread needs to run a pass.
        class Worker
        {
        public:
            Worker(const Pass& pass, const Graph& graph, const InstructionSet& set, bool stream, std::size_t ahead)
                : pass_(pass), set_(set), stream_(stream), ahead_(ahead), odometer_(pass.outer, graph.shape(), &arena_), program_(pass.program, &arena_), values_(std::size_t(pass.values), &arena_), strips_(aligned_doubles(std::size_t(pass.strips) * widest_strip)), row_of_array_(pass.arrays.size(), &arena_), row_of_output_(pass.outputs.size(), &arena_)
            {
                for (const Row& a : pass.arrays)
                    uneven_ += a.step != 1;
                for (const Output& o : pass.outputs)
                    uneven_ += step_of(o) != 1;
                gathered_ = aligned_doubles(uneven_ * gathered_segment);
                for (const Reference& r : pass.references)
                    if (r.source == Source::strip)
                    {
                        double* const memory = strips_.get() + std::size_t(r.number) * widest_strip;
                        Instruction& i = program_[std::size_t(r.instruction)];
                        if (i.code == Code::save)
                            i.result = memory;
                        else
                            field(r).memory = memory;
                    }
            }

            void run(std::size_t first_unit, std::size_t last_unit, std::size_t segment)
            {
                const std::size_t per_row = (pass_.row + segment - 1) / segment;
                for (std::size_t unit = first_unit; unit < last_unit; ++unit)
                {
                    const std::size_t row = unit / per_row, begin = unit % per_row * segment;
                    if (row != row_)
                        start(row);
                    if (!uneven_)
                        set_.run(program_.data(), begin, std::min(begin + segment, pass_.row), stream_);
                    else
                        run_uneven(begin, std::min(begin + segment, pass_.row));
                }
            }

        private:
            std::ptrdiff_t step_of(const Output& o) const { return pass_.inner.empty() ? 1 : o.stride[std::size_t(pass_.inner.back())]; }
            Operand& field(const Reference& r)
            {
                Instruction& i = program_[std::size_t(r.instruction)];
                return r.second ? i.second : i.operand;
            }

            void start(std::size_t row)
            {
                std::size_t moved = 0;
                if (row_ != none && row == row_ + 1)
                    moved = odometer_.next() + 1;
                else
                    odometer_.go_to(row);
                row_ = row;
                for (std::size_t k = pass_.first_step[std::min(moved, pass_.first_step.size() - 1)]; k < pass_.steps.size(); ++k)
                {
                    const ScalarStep& s = pass_.steps[k];
                    const auto x = [&](std::size_t a) { return values_[std::size_t(s.argument[a])]; };
                    double& result = values_[std::size_t(s.result)];
                    switch (s.op) // the common ones here: rows may be short
                    {
                    case Op::input: result = s.view.data[odometer_.offset(s.view.stride)]; break;
                    case Op::constant: result = s.constant; break;
                    case Op::add: result = x(0) + x(1); break;
                    case Op::mul: result = x(0) * x(1); break;
                    case Op::div: result = x(0) / x(1); break;
                    default:
                    {
                        double all[3] = {};
                        for (std::size_t a = 0; a < 3 && s.argument[a] >= 0; ++a)
                            all[a] = x(a);
                        result = evaluate(s.op, s.routine, all);
                    }
                    }
                }
                for (std::size_t k = 0; k < pass_.outputs.size(); ++k)
                {
                    row_of_output_[k] = pass_.outputs[k].data + odometer_.offset(pass_.outputs[k].stride);
                    program_[std::size_t(pass_.writes[k])].result = row_of_output_[k];
                }
                for (std::size_t k = moved == 0 ? 0 : pass_.first_moving; k < pass_.references.size(); ++k)
                    fill(pass_.references[k]);
            }
            void fill(const Reference& r)
            {
                Operand& o = field(r);
                switch (r.source)
                {
                case Source::scalar: o.scalar = values_[std::size_t(r.number)]; break;
                case Source::reciprocal: o.scalar = reciprocal(values_[std::size_t(r.number)]); break;
                case Source::row:
                {
                    const View& view = pass_.arrays[std::size_t(r.number)].view;
                    o.memory = row_of_array_[std::size_t(r.number)] = view.data + odometer_.offset(view.stride);
                    o.step = 1, o.ahead = ahead_;
                    break;
                }
                case Source::strip: break;
                }
            }
            // A segment whose arrays or results do not lie point by point: through buffers.
            void run_uneven(std::size_t begin, std::size_t end)
            {
                std::vector<double*> buffer_of_array(row_of_array_.size(), nullptr);
                double* free = gathered_.get();
                for (std::size_t k = 0; k < row_of_array_.size(); ++k)
                    if (const std::ptrdiff_t step = pass_.arrays[k].step; step != 1)
                    {
                        const double* from = row_of_array_[k] + std::ptrdiff_t(begin) * step;
                        for (std::size_t i = 0; i < end - begin; ++i)
                            free[i] = from[std::ptrdiff_t(i) * step];
                        buffer_of_array[k] = free - begin;
                        free += gathered_segment;
                    }
                for (const Reference& r : pass_.references)
                    if (r.source == Source::row && buffer_of_array[std::size_t(r.number)])
                        field(r).memory = buffer_of_array[std::size_t(r.number)];
                std::vector<double*> buffer_of_output(row_of_output_.size(), nullptr);
                for (std::size_t k = 0; k < row_of_output_.size(); ++k)
                    if (step_of(pass_.outputs[k]) != 1)
                    {
                        buffer_of_output[k] = free;
                        program_[std::size_t(pass_.writes[k])].result = free - begin;
                        free += gathered_segment;
                    }
                set_.run(program_.data(), begin, end, false);
                for (std::size_t k = 0; k < row_of_output_.size(); ++k)
                    if (buffer_of_output[k])
                    {
                        const std::ptrdiff_t step = step_of(pass_.outputs[k]);
                        double* to = row_of_output_[k] + std::ptrdiff_t(begin) * step;
                        for (std::size_t i = 0; i < end - begin; ++i)
                            to[std::ptrdiff_t(i) * step] = buffer_of_output[k][i];
                    }
            }

            static constexpr std::size_t none = std::size_t(-1);
            std::array<std::byte, 8192> buffer_;
            std::pmr::monotonic_buffer_resource arena_{buffer_.data(), buffer_.size()};
            const Pass& pass_;
            const InstructionSet& set_;
            bool stream_;
            std::size_t uneven_ = 0; // arrays and results that do not lie point by point along the row
            std::size_t ahead_; // doubles by which arrays are asked for early
            Odometer odometer_;
            List<Instruction> program_;
            List<double> values_;
            Doubles strips_, gathered_;
            List<const double*> row_of_array_;
            List<double*> row_of_output_;
            std::size_t row_ = none;
        };

        class Progress
        {
        public:
            Progress(const Options& options, std::size_t total) : options_(options), total_(total) {}
            void add(std::size_t points) { done_ += points; }
            bool stopped() const { return stop_; }
            void stop() { stop_ = true; }
            void tell() // by the calling thread
            {
                if (!options_.report)
                    return;
                const auto now = std::chrono::steady_clock::now();
                if (now - last_ < std::chrono::milliseconds(20))
                    return;
                last_ = now;
                if (!options_.report(done_, total_))
                    stop_ = true;
            }

        private:
            const Options& options_;
            std::size_t total_;
            std::atomic<std::size_t> done_{0};
            std::atomic<bool> stop_{false};
            std::chrono::steady_clock::time_point last_{}; // so that the first chunk asks
        };

        // A new thread starts on its maker's processor as a rule and waits there for milliseconds, as long as a call takes.
        // So it is sent to the others, and free to move once it runs.
        class Placement
        {
        public:
#if defined(__linux__)
            explicit Placement(bool wanted)
            {
                wanted_ = wanted && sched_getaffinity(0, sizeof all_, &all_) == 0 && CPU_COUNT(&all_) > 1;
                others_ = all_;
                if (wanted_)
                    CPU_CLR(sched_getcpu(), &others_);
            }
            void elsewhere(std::thread& thread) const
            {
                if (wanted_)
                    pthread_setaffinity_np(thread.native_handle(), sizeof others_, &others_);
            }
            void anywhere() const
            {
                if (wanted_)
                    sched_setaffinity(0, sizeof all_, &all_);
            }

        private:
            bool wanted_ = false;
            cpu_set_t all_{}, others_{};
#else
            explicit Placement(bool) {}
            void elsewhere(std::thread&) const {}
            void anywhere() const {}
#endif
        };

        void run_pass(Pass& pass, const Graph& graph, const InstructionSet& set, const Options& options, Progress& progress)
        {
            bool gathers = false;
            for (Row& r : pass.arrays)
            {
                AxisSet beyond = r.view.axes;
                for (const int k : pass.inner)
                    beyond &= ~(AxisSet(1) << k);
                if (r.reciprocal_of >= 0)
                    invert(r, pass.arrays[std::size_t(r.reciprocal_of)], pass, set);
                else if (r.expand || (r.step != 1 && !beyond && pass.row <= longest_segment))
                    spread(r, pass, graph);
                gathers = gathers || r.step != 1;
            }
            std::size_t bytes = 0;
            bool used_before = true;
            for (const Output& o : pass.outputs)
            {
                bytes += pass.rows * pass.row * sizeof(double);
                used_before = used_before && o.used_before;
                gathers = gathers || (!pass.inner.empty() && o.stride[std::size_t(pass.inner.back())] != 1);
            }
            const std::size_t segment = std::max<std::size_t>(1, std::min(pass.row, gathers ? gathered_segment : options.inspect ? inspected_segment
                                                                                                                                 : longest_segment));
            const std::size_t units = pass.rows * ((pass.row + segment - 1) / segment), points = pass.rows * pass.row;
            const std::size_t chunk = std::max<std::size_t>(1, (pass.has_routine ? chunk_points_of_routines : options.inspect ? chunk_points_of_tables
                                                                                                                              : chunk_points) /
                                                                   segment);
            const std::size_t chunks = (units + chunk - 1) / chunk;
            const bool stream = used_before && bytes >= fewest_streamed_bytes;
            const int threads = points < fewest_threaded_points && !pass.has_routine ? 1 : int(std::min<std::size_t>(std::size_t(std::max(options.threads, 1)), chunks));

            std::atomic<std::size_t> next{0};
            const auto work = [&](bool calling) {
                Worker worker(pass, graph, set, stream, options.inspect ? segment : 0);
                for (std::size_t c; (c = next++) < chunks && !progress.stopped();)
                {
                    const std::size_t last = std::min(units, (c + 1) * chunk);
                    if (options.inspect)
                        for (std::size_t unit = c * chunk; unit < last; ++unit)
                        {
                            options.inspect(unit * segment, std::min((unit + 1) * segment, pass.row));
                            worker.run(unit, unit + 1, segment);
                        }
                    else
                        worker.run(c * chunk, last, segment);
                    progress.add((last - c * chunk) * segment);
                    if (calling)
                        progress.tell();
                }
                if (stream)
                    set.fence();
            };
            std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(threads));
            const auto guarded = [&](int thread) {
                try
                {
                    work(thread == 0);
                }
                catch (...)
                {
                    thrown[std::size_t(thread)] = std::current_exception();
                    progress.stop();
                }
            };
            std::vector<std::thread> others;
            const Placement placement(threads > 1);
            for (int t = 1; t < threads; ++t)
            {
                others.emplace_back([&, t] {
                    placement.anywhere();
                    guarded(t);
                });
                placement.elsewhere(others.back());
            }
            guarded(0);
            for (std::thread& t : others)
                t.join();
            for (const std::exception_ptr& e : thrown)
                if (e)
                    std::rethrow_exception(e);
            if (progress.stopped())
                throw Interrupted{};
        }
    }

    void store(const Graph& graph, const std::vector<Output>& outputs, const Options& options)
    {
        const InstructionSet& set = instruction_set();
        std::array<std::byte, 65536> buffer;
        std::pmr::monotonic_buffer_resource arena(buffer.data(), buffer.size());
        Plan plan = make_plan(graph, outputs, set, &arena);
        for (const Output& o : plan.constants)
            *o.data = graph[o.node].value;
        std::size_t total = 0;
        for (const Pass& p : plan.passes)
            total += p.rows * p.row;
        Progress progress(options, total);
        for (Pass& p : plan.passes)
            run_pass(p, graph, set, options, progress);
    }
}
