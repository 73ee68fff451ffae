// The binding of draws.
#include "roofslate/python/grid.hpp"
#include "roofslate/sampling/sampler.hpp"

namespace roofslate::binding
{
    namespace
    {
        template <class T> using Plain = py::array_t<T, py::array::c_style | py::array::forcecast>;

        InverseDistribution inverse_of(
            const Plain<std::uint32_t>& first,
            const Plain<double>& ends,
            const Plain<double>& pieces,
            double low,
            double high)
        {
            const std::size_t n = std::size_t(ends.size());
            if (std::size_t(first.size()) != bins_of_inverse + 1 || first.at(first.size() - 1) != n
                || std::size_t(pieces.size()) != n * words_of_piece)
                throw py::value_error(
                    "InverseDistribution: a first piece for each bin, and for each piece its end and eight words");
            return {
                {first.data(), first.data() + first.size()},
                {ends.data(), ends.data() + n},
                {pieces.data(), pieces.data() + pieces.size()},
                low,
                high};
        }
        Sampler sampler_of(
            const Plain<std::uint32_t>& directions,
            const std::vector<std::uint32_t>& shifts,
            const std::vector<InverseDistribution>& inverses,
            const InverseDistribution& normal,
            const std::vector<std::vector<double>>& correlation)
        {
            std::vector<Sampler::Directions> all(inverses.size());
            if (directions.ndim() != 2 || std::size_t(directions.shape(0)) != all.size()
                || std::size_t(directions.shape(1)) != bits_of_draw || shifts.size() != all.size()
                || !(correlation.empty() || correlation.size() == all.size()))
                throw py::value_error("Sampler: 32 direction numbers, a shift and a distribution for each input");
            for (std::size_t k = 0; k < correlation.size(); ++k)
                if (correlation[k].size() <= k)
                    throw py::value_error("Sampler: correlation is a lower triangle");
            for (std::size_t k = 0; k < all.size(); ++k)
                std::copy_n(directions.data(py::ssize_t(k), 0), bits_of_draw, all[k].begin());
            return {std::move(all), shifts, inverses, normal, correlation};
        }
        py::list drawn(const Sampler& sampler, std::size_t n, int threads, const py::object& progress)
        {
            promise_memory(
                double(n) * double(sampler.inputs() * sizeof(double)),
                "Ask rs.quantiles, rs.histogram or rs.count with n= and seed=: they keep no sample");
            py::list columns;
            std::vector<double*> to;
            for (std::size_t k = 0; k < sampler.inputs(); ++k)
            {
                columns.append(allocate<double>({py::ssize_t(n)}, {1}, n).array);
                to.push_back(static_cast<double*>(py::cast<py::array>(columns[k]).mutable_data()));
            }
            running(progress, threads, [&](const Options& options) { draw(sampler, n, to, options); });
            return columns;
        }
    }

    void bind_sampling(py::module_& m)
    {
        py::class_<InverseDistribution>(
            m,
            "InverseDistribution",
            "The inverse of a distribution function as polynomials, piece by piece.")
            .def(
                py::init(&inverse_of),
                py::arg("first"),
                py::arg("ends"),
                py::arg("pieces"),
                py::arg("low"),
                py::arg("high"));
        py::class_<Sampler>(m, "Sampler", "Draws of several inputs together.")
            .def(
                py::init(&sampler_of),
                py::arg("directions"),
                py::arg("shifts"),
                py::arg("inverses"),
                py::arg("normal"),
                py::arg("correlation"));
        m.def(
            "draw",
            &drawn,
            py::arg("sampler"),
            py::arg("n"),
            py::arg("threads"),
            py::arg("progress"),
            "The first draws of a sampler: an array for each of its inputs.");
    }
}
