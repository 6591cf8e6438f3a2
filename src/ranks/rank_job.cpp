#include "ranks/rank_job.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "base/errors.hpp"
#include "base/openblas.hpp"
#include "io/npy_header.hpp"
#include "operations/gemm/product/cpu_product.hpp"
#include "operations/gemm/product/quantised_problem.hpp"
#include "operations/matmul/matmul_choice.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/numerics/product_reference.hpp"
#include "ranks/agreement.hpp"
#include "ranks/gpu_rank_product.hpp"
#include "ranks/rank_device.hpp"
#include "ranks/rank_files.hpp"
#include "ranks/rank_output.hpp"
#include "ranks/rank_product.hpp"

namespace tilescope::ranks {
namespace {

using operations::HostProblem;
using operations::matrix_of;
using transfer::MatmulFiles;
using transfer::MatmulInputs;

/// A product's description, the same on all ranks but for addresses.
struct Description {
  HostProblem problem;
  std::uint64_t a_digest = 0, b_digest = 0;
};

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

bool is_same(const ConstMatrixView& x, const ConstMatrixView& y) {
  return x.type == y.type && x.rows == y.rows && x.columns == y.columns && x.order == y.order &&
         x.leading == y.leading;
}

/// One call of multiply_with_ranks().
class Job {
 public:
  Job(const Session& session, const MatmulFiles& files, const RankJob& job)
      : session_(session),
        all_(session.all()),
        of_host_(all_.split_by_host()),
        files_(files),
        job_(job),
        options_(job.options) {}

  RankOutcome run() {
    share_cores(of_host_);
    open_inputs();
    device_ = open_rank_device(session_, of_host_, job_.device);
    choose_grid();
    const Clock::time_point opening = Clock::now();
    open_output();
    opening_ms_ = milliseconds_since(opening);
    describe();
    const Member mine{of_host_.gather(all_.rank()).front(), inputs_.has_value()};
    if (device_->kind() == DeviceKind::cpu || !operations::has_products(problem_)) {
      RankProduct product(all_, problem_, outcome_.grid, unit_, job_.band, mine, job_.exchange);
      multiply_all(product, "cpu_blas");
    } else {
      GpuRankProduct product(all_, device_, problem_, outcome_.grid, gpu_bands(), mine,
                             job_.exchange);
      outcome_.carrier = name_of(product.carrier());
      outcome_.why_not_nccl = product.why_not_nccl();
      multiply_all(product, product.variant());
      outcome_.report.note = agreed_note(product.note());
    }
    commit();
    outcome_.report.precision = problem_.precision;
    outcome_.device = device_->kind();
    return outcome_;
  }

 private:
  bool is_first() const { return all_.rank() == 0; }

  // A machine without the files is served by rank 0.
  void open_inputs() {
    together(session_, [&] {
      const bool has_files = all_exist({files_.a, files_.b, files_.bias, files_.accumulate});
      if (is_first() || has_files) inputs_.emplace(files_);
      if (is_first()) options_.bias = inputs_->bias();
      OpenBlas::instance();
    });
    MatmulShape shape = is_first() ? inputs_->shape() : MatmulShape{};
    all_.broadcast(&shape, sizeof(shape), 0).wait();
    shape_ = shape;
  }

  void choose_grid() {
    const MatmulShape rows = by_rows(shape_);
    unit_ = agreed_unit(all_, operations::blas_cell(rows));
    together(session_, [&] {
      const RankGrid grid = job_.grid.value_or(ranks::choose_grid(all_.size(), rows, unit_));
      if (grid.size() != all_.size()) {
        throw usage_error("a grid of {} x {} has {} ranks, and there are {}", grid.rows,
                          grid.columns, grid.size(), all_.size());
      }
      outcome_.grid = grid;
    });
    outcome_.hosts = count_hosts(all_, of_host_);
  }

  void open_output() {
    together(session_, [&] {
      if (!is_first()) return;
      const NpyHeader header = inputs_->header(job_.order);
      if (job_.resume && !files_.accumulate.empty()) {
        throw usage_error("--resume does not work with --accumulate");
      }
      const std::size_t bands =
          bands_of(by_rows(shape_), operations::blas_cell(by_rows(shape_)), job_.band).size();
      if (job_.resume && bands > 0 && inputs_->a().count > 0) {
        output_.emplace(job_.output, header, purpose(),
                        static_cast<std::int64_t>(bands) * inputs_->a().count);
      } else {
        output_.emplace(job_.output, header);
      }
      MatrixBatch c{.first = dense_view(static_cast<void*>(nullptr), inputs_->type(), shape_.m,
                                        shape_.n, job_.order),
                    .count = inputs_->a().count,
                    .stride = shape_.m * shape_.n};
      c.first.data = output_->elements();
      inputs_->copy_accumulated(c);
      problem_ = operations::with_rows_of_c(
          operations::host_problem(inputs_->a(), inputs_->b(), c, options_));
      operations::require_for_several(problem_);
    });
    file_.emplace(all_, is_first() ? &*output_ : nullptr);
  }

  // The transposed shape for a column-major C, which is computed by its rows.
  MatmulShape by_rows(const MatmulShape& shape) const {
    if (job_.order == Order::row_major) return shape;
    return {shape.n, shape.m, shape.k};
  }

  std::string purpose() const {
    std::string text = fmt::format(
        "{} by {} in bands of {}, precision {}, order {}, alpha {}", shape_text(shape_),
        device_->kind() == DeviceKind::cpu ? "ranks" : "GPUs of ranks", job_.band,
        name_of(options_.precision), job_.order == Order::row_major ? "C" : "F", options_.alpha);
    for (const auto& [path, is_transposed] :
         {std::pair{files_.a, files_.transpose_a}, std::pair{files_.b, files_.transpose_b},
          std::pair{files_.bias, false}}) {
      if (path.empty()) continue;
      text += fmt::format("; {}{}", is_transposed ? "transposed " : "", named_state_of(path));
    }
    return text + fmt::format("; activation {}", static_cast<int>(options_.activation));
  }

  // All ranks get rank 0's problem, and look whether their files are the same as its.
  void describe() {
    const std::vector<char> comparing =
        comparing_ranks(all_, of_host_, outcome_.hosts, {files_.a, files_.b});
    const bool compares = comparing[static_cast<std::size_t>(all_.rank())] != 0;
    Description mine;
    together(session_, [&] {
      const bool is_asked = is_first() && std::count(comparing.begin(), comparing.end(), 1) > 0;
      if (!inputs_ || !(compares || is_asked)) return;
      mine.a_digest = digest_of(files_.a);
      mine.b_digest = digest_of(files_.b);
    });
    mine.problem = problem_;
    Description first = mine;
    all_.broadcast(&first, sizeof(first), 0).wait();
    bias_.assign(options_.bias.begin(), options_.bias.end());
    bias_.resize(first.problem.bias.size());
    all_.broadcast(bias_.data(), bias_.size() * sizeof(float), 0).wait();
    together(session_, [&] {
      if (is_first() || !inputs_) return;
      HostProblem own = first.problem;
      own.a = inputs_->a();
      own.b = inputs_->b();
      own.c.first.order = job_.order;
      if (job_.order == Order::column_major) std::swap(own.c.first.rows, own.c.first.columns);
      own = operations::with_rows_of_c(own);
      problem_ = own;
      const bool swapped = job_.order == Order::column_major;
      require_same(is_same(own.a.first, first.problem.a.first), swapped ? files_.b : files_.a,
                   session_);
      require_same(is_same(own.b.first, first.problem.b.first), swapped ? files_.a : files_.b,
                   session_);
      if (!compares) return;
      require_same(mine.a_digest == first.a_digest, files_.a, session_);
      require_same(mine.b_digest == first.b_digest, files_.b, session_);
    });
    const void *const a = problem_.a.first.data, *const b = problem_.b.first.data;
    problem_ = first.problem;
    problem_.a.first.data = inputs_ ? a : nullptr;
    problem_.b.first.data = inputs_ ? b : nullptr;
    problem_.bias = bias_;
    problem_.c.first.data = file_->elements();
  }

  // A part of the problem: its elements of C and of the bias.
  HostProblem part_of_problem(std::int64_t index, const Part& part) const {
    HostProblem one = problem_;
    one.c = {.first = operations::part(matrix_of(problem_.c, index), part.rows.first,
                                       part.rows.count, part.columns.first, part.columns.count)};
    if (!bias_.empty()) {
      const Range& range = problem_.bias_per_row ? part.rows : part.columns;
      one.bias = std::span(bias_).subspan(static_cast<std::size_t>(range.first),
                                          static_cast<std::size_t>(range.count));
    }
    return one;
  }

  template <typename Product>
  void multiply_all(Product& product, const std::string& variant) {
    outcome_.bands = static_cast<std::int64_t>(product.bands().size()) * problem_.batch();
    const Clock::time_point start = Clock::now();
    std::int64_t number = 0;
    for (std::int64_t index = 0; index < problem_.batch(); ++index) {
      for (const Range& band : product.bands()) multiply(product, index, band, number++);
    }
    const std::vector<double> all_elapsed = all_.gather(opening_ms_ + milliseconds_since(start));
    outcome_.report.compute_ms = *std::max_element(all_elapsed.begin(), all_elapsed.end());
    outcome_.report.variant =
        fmt::format("{} on {} rank{} ({} x {})", variant, all_.size(), all_.size() == 1 ? "" : "s",
                    outcome_.grid.rows, outcome_.grid.columns);
  }

  /// The bands of a product on GPUs, which take one at once if nothing is kept.
  std::vector<Range> gpu_bands() const {
    const MatmulShape shape = problem_.shape();
    if (!job_.resume && job_.band == 0) return {{0, shape.n}};
    return bands_of(shape, operations::blas_cell(shape), job_.band);
  }

  /// The remark of the first rank that has one.
  std::string agreed_note(std::string note) const {
    const std::vector<char> has_note = all_.gather(static_cast<char>(!note.empty()));
    const auto found = std::find(has_note.begin(), has_note.end(), 1);
    if (found == has_note.end()) return {};
    all_.broadcast(note, static_cast<int>(found - has_note.begin()));
    return note;
  }

  template <typename Product>
  void multiply(Product& product, std::int64_t index, const Range& band, std::int64_t number) {
    bool is_done = is_first() && output_->is_done(number);
    all_.broadcast(&is_done, sizeof(is_done), 0).wait();
    if (!is_done) {
      compute(product, index, band);
      if (is_first()) output_->mark_done(number);
    }
    if (is_first() && job_.band_done) job_.band_done(number + 1, outcome_.bands);
  }

  // The rank's part of C in the file, if its sums can lie there: nothing is copied then.
  std::optional<MatrixView> room_in_file(const RankProduct& product, std::int64_t index,
                                         const Range& band) const {
    const bool takes_sums =
        problem_.c.first.type == operations::sum_type(problem_.precision) && problem_.beta == 0.0;
    if (!takes_sums || !file_->is_written_by(all_.rank())) return std::nullopt;
    return part_of_problem(index, product.part(all_.rank(), band)).c.first;
  }

  void compute(RankProduct& product, std::int64_t index, const Range& band) {
    const ConstMatrixView sums = product.multiply(index, band, room_in_file(product, index, band));
    together(session_, [&] { write(product, index, band, sums); });
  }

  // Rank 0 has the addend of those that do not see its folder, and writes for them.
  void compute(GpuRankProduct& product, std::int64_t index, const Range& band) {
    const auto bytes = [](const ConstMatrixView& of) {
      return static_cast<std::size_t>(of.rows * of.columns) * size_of(of.type);
    };
    const DataType type = problem_.c.first.type;
    const auto memory_for = [&](const Part& part) {
      return operations::HostArray(type,
                                   static_cast<std::size_t>(part.rows.count * part.columns.count));
    };
    const auto dense = [&](operations::HostArray& memory, const Part& part) {
      return dense_view(memory.data(), type, part.rows.count, part.columns.count);
    };
    const auto in_file = [&](const Part& part) {
      return operations::part(matrix_of(problem_.c, index), part.rows.first, part.rows.count,
                              part.columns.first, part.columns.count);
    };
    const auto serve = [&](const auto& each) {
      for (int rank = 1; is_first() && rank < all_.size(); ++rank) {
        if (file_->is_written_by(rank)) continue;
        const Part part = product.part(rank, band);
        operations::HostArray memory = memory_for(part);
        each(rank, dense(memory, part), in_file(part));
      }
    };
    const Part mine = product.part(all_.rank(), band);
    const bool writes = file_->is_written_by(all_.rank());
    operations::HostArray memory = writes ? operations::HostArray() : memory_for(mine);
    const MatrixView c = writes ? in_file(mine) : dense(memory, mine);
    if (problem_.beta != 0.0) {
      if (!writes) all_.receive(memory.data(), bytes(c), 0);
      serve([&](int rank, const MatrixView& sent, const MatrixView& from) {
        operations::convert_matrix(from, sent);
        all_.send(sent.data, bytes(sent), rank);
      });
    }
    product.multiply(index, band, c);
    if (!writes) all_.send(c.data, bytes(c), 0);
    serve([&](int rank, const MatrixView& received, const MatrixView& to) {
      all_.receive(received.mutable_data(), bytes(received), rank);
      operations::convert_matrix(received, to);
    });
    together(session_, [&] {
      if (job_.resume && writes) file_->flush();
    });
  }

  // Rank 0 writes for those that do not see its folder.
  void write(const RankProduct& product, std::int64_t index, const Range& band,
             const ConstMatrixView& sums) {
    const auto finish = [&](int rank, const ConstMatrixView& of) {
      const Part part = product.part(rank, band);
      if (!part.empty()) operations::finish_on_cpu(part_of_problem(index, part), of);
    };
    const auto bytes = [](const ConstMatrixView& of) {
      return static_cast<std::size_t>(of.rows * of.columns) * size_of(of.type);
    };
    if (!file_->is_written_by(all_.rank())) {
      all_.send(sums.data, bytes(sums), 0);
      return;
    }
    finish(all_.rank(), sums);
    if (!is_first()) {
      if (job_.resume) file_->flush();
      return;
    }
    for (int rank = 1; rank < all_.size(); ++rank) {
      if (file_->is_written_by(rank)) continue;
      const Part part = product.part(rank, band);
      operations::HostArray memory(sums.type,
                                   static_cast<std::size_t>(part.rows.count * part.columns.count));
      const MatrixView received =
          dense_view(memory.data(), sums.type, part.rows.count, part.columns.count);
      all_.receive(memory.data(), bytes(received), rank);
      finish(rank, received);
    }
  }

  void commit() {
    file_.reset();
    together(session_, [&] {
      if (inputs_) inputs_->require_unchanged();
    });
    together(session_, [&] {
      if (is_first()) output_->commit();
    });
  }

  const Session& session_;
  Group all_, of_host_;
  const MatmulFiles& files_;
  const RankJob& job_;
  MatmulOptions options_;
  std::optional<MatmulInputs> inputs_;
  std::shared_ptr<Device> device_;
  MatmulShape shape_, unit_;
  std::optional<RankOutput> output_;  ///< on rank 0
  std::optional<RankFile> file_;
  HostProblem problem_;
  std::vector<float> bias_;
  RankOutcome outcome_;
  double opening_ms_ = 0;  ///< the time until there was a file for C
};

}  // namespace

RankOutcome multiply_with_ranks(const Session& session, const MatmulFiles& files,
                                const RankJob& job) {
  return or_abort(session, [&] { return Job(session, files, job).run(); });
}

}  // namespace tilescope::ranks
