#include "ranks/gpu_rank_product.hpp"

#include <algorithm>
#include <utility>

#include "distribute/panels.hpp"
#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/gemm/product/memory_product.hpp"
#include "operations/numerics/conversion.hpp"

namespace tilescope::ranks {
namespace {

using operations::GemmOperand;
using operations::GemmProblem;
using operations::matrix_of;

constexpr std::int64_t tile = 256;  // the widest of any kernel

std::vector<Range> tiled_shares(std::int64_t total, int parts) {
  return distribute::shares(total, std::vector<double>(static_cast<std::size_t>(parts), 1.0), tile);
}

std::size_t bytes_of(const GemmOperand& operand) {
  return static_cast<std::size_t>(operand.batch_stride) * size_of(operand.type);
}

GemmOperand padded(const ConstMatrixView& like, std::int64_t rows, std::int64_t columns) {
  return operations::padded_operand(
      {.operand = {.order = like.order}, .rows = rows, .columns = columns}, like.type, false);
}

/// The whole product as one GPU would find it in its memory.
GemmProblem whole_in_memory(const operations::HostProblem& problem) {
  GemmProblem whole = operations::problem_in_memory(problem);
  const MatmulShape& s = whole.shape;
  whole.a = padded(problem.a.first, s.m, s.k);
  whole.b = padded(problem.b.first, s.k, s.n);
  whole.c = padded(problem.c.first, s.m, s.n);
  return whole;
}

}  // namespace

GpuRankProduct::GpuRankProduct(const Group& all, std::shared_ptr<Device> device,
                               const operations::HostProblem& problem, const RankGrid& grid,
                               std::vector<Range> bands, const Member& mine, bool exchange)
    : all_(all),
      device_(std::move(device)),
      problem_(problem),
      grid_(grid),
      shape_(problem.shape()),
      row_(all.split(grid.row(all.rank()))),
      column_(all.split(grid.column(all.rank()))),
      members_(all.gather(mine)),
      rows_(tiled_shares(shape_.m, grid.rows)),
      bands_(std::move(bands)),
      whole_(whole_in_memory(problem)),
      whole_choice_(operations::choose_for_parts(whole_, *device_, "")) {
  whole_.precision = whole_choice_.problem.precision;
  std::string kernel = variant() + ' ' + whole_choice_.kernel.plan;
  const std::string own_kernel = kernel;
  all.broadcast(kernel, 0);
  if (kernel != own_kernel) {
    note_ = "the bits may differ from one GPU's: the ranks' GPUs take unlike kernels";
  }
  GridNccl nccl(all, row_, column_, *device_);
  nccl_why_not_ = nccl.why_not;
  const bool by_files = !exchange && !nccl_why_not_.empty();
  const bool a_by_files = share_files(row_, mine), b_by_files = share_files(column_, mine);
  a_exchange_.emplace(*device_, row_, std::move(nccl.row), by_files && a_by_files);
  b_exchange_.emplace(*device_, column_, std::move(nccl.column), by_files && b_by_files);
  allocate();
}

Carrier GpuRankProduct::carrier() const {
  return column_.size() > 1 ? b_exchange_->carrier() : a_exchange_->carrier();
}

Part GpuRankProduct::part(int rank, const Range& band) const {
  const Range columns =
      tiled_shares(band.count, grid_.columns)[static_cast<std::size_t>(grid_.column(rank))];
  return {rows_[static_cast<std::size_t>(grid_.row(rank))],
          {band.first + columns.first, columns.count}};
}

// As many panels on every rank: each takes part in every exchange of its column of the grid, and
// rank 0 serves those that do not see the files.
std::vector<Range> GpuRankProduct::panels(int rank, const Range& band) const {
  std::int64_t widest = 0;
  for (const Range& share : tiled_shares(band.count, grid_.columns)) {
    widest = std::max(widest, share.count);
  }
  const auto count = static_cast<std::int64_t>(distribute::panels_of(widest, least_).size());
  const Range columns = part(rank, band).columns;
  std::vector<Range> all = distribute::equal_shares(columns.count, count, tile);
  for (Range& panel : all) panel.first += columns.first;
  return all;
}

void GpuRankProduct::allocate() {
  Device& device = *device_;
  GemmProblem mine = whole_;
  mine.batch = 1;
  mine.shape.m = rows_[static_cast<std::size_t>(grid_.row(all_.rank()))].count;
  mine.a = padded(problem_.a.first, mine.shape.m, shape_.k);
  const std::vector<std::int64_t> least =
      all_.gather(distribute::least_panel(whole_choice_, mine, device.properties()));
  least_ = *std::max_element(least.begin(), least.end());
  std::int64_t widest = 0;
  for (const Range& band : bands_) {
    for (const Range& panel : panels(all_.rank(), band)) widest = std::max(widest, panel.count);
  }
  up_ = device.create_stream();
  compute_ = device.create_stream();
  down_ = device.create_stream();
  a_ = device.allocate(bytes_of(mine.a), "A", Reach::own);
  bias_ = device.allocate(problem_.bias.size_bytes(), "bias", Reach::own);
  device.copy_to_device(bias_.address(), problem_.bias.data(), problem_.bias.size_bytes());
  for (Slot& slot : slots_) {
    slot.b = device.allocate(bytes_of(padded(problem_.b.first, shape_.k, widest)), "a panel of B",
                             Reach::own);
    slot.c = device.allocate(bytes_of(padded(problem_.c.first, mine.shape.m, widest)),
                             "a panel of C", Reach::own);
    slot.arrived = device.create_event();
    slot.computed = device.create_event();
  }
  for (const Range& band : bands_) {
    for (const Range& panel : panels(all_.rank(), band)) prepare(panel.count);
  }
}

// Brings a matrix of which `part_of(rank)` is the part that a rank's row or column of the grid
// needs. A rank that does not see the files has its own part of that from rank 0.
void GpuRankProduct::bring(PanelExchange& exchange, const ConstMatrixView& whole, DeviceAddress to,
                           const std::function<Part(int rank)>& part_of, bool is_a) {
  const auto own_of = [&](int rank) {
    return is_a ? own_part(region_of(whole, part_of(rank)), grid_.column(rank), grid_.columns)
                : own_part(region_of(whole, part_of(rank)), grid_.row(rank), grid_.rows);
  };
  const auto bytes = [](const ConstMatrixView& of) {
    return static_cast<std::size_t>(of.rows * of.columns) * size_of(of.type);
  };
  const ConstMatrixView region = region_of(whole, part_of(all_.rank()));
  ConstMatrixView own = own_of(all_.rank());
  if (!members_[static_cast<std::size_t>(all_.rank())].sees_operands) {
    received_ = operations::HostArray(own.type, static_cast<std::size_t>(own.rows * own.columns));
    own = dense_view(received_.data(), own.type, own.rows, own.columns, own.order);
    all_.receive(received_.data(), bytes(own), 0);
  }
  for (int rank = 1; all_.rank() == 0 && rank < grid_.size(); ++rank) {
    if (members_[static_cast<std::size_t>(rank)].sees_operands) continue;
    const ConstMatrixView from = own_of(rank);
    operations::HostArray memory(from.type, static_cast<std::size_t>(from.rows * from.columns));
    const MatrixView dense =
        dense_view(memory.data(), from.type, from.rows, from.columns, from.order);
    operations::convert_matrix(from, dense);
    all_.send(memory.data(), bytes(dense), rank);
  }
  exchange.bring(region, own, to, padded(whole, region.rows, region.columns), up_);
}

void GpuRankProduct::bring_a(std::int64_t index) {
  if (index == a_index_) return;
  a_index_ = index;
  for (const Slot& slot : slots_) device_->wait(up_, slot.computed);
  bring(
      *a_exchange_, matrix_of(problem_.a, index), a_.address(),
      [&](int rank) {
        return Part{rows_[static_cast<std::size_t>(grid_.row(rank))], {0, shape_.k}};
      },
      true);
}

void GpuRankProduct::bring_b(std::int64_t index, const Range& band, std::size_t panel) {
  Slot& slot = slots_[panel % slot_count];
  device_->wait(up_, slot.computed);
  bring(
      *b_exchange_, matrix_of(problem_.b, index), slot.b.address(),
      [&](int rank) {
        return Part{{0, shape_.k}, panels(rank, band)[panel]};
      },
      false);
  device_->record(slot.arrived, up_);
}

// The kernels for panels of a width. To compile and load them takes long.
void GpuRankProduct::prepare(std::int64_t width) {
  GemmProblem problem = whole_;
  problem.batch = 1;
  problem.shape.m = rows_[static_cast<std::size_t>(grid_.row(all_.rank()))].count;
  problem.shape.n = width;
  if (problem.shape.m == 0 || width == 0 || prepared_.contains(width)) return;
  problem.a = padded(problem_.a.first, problem.shape.m, shape_.k);
  problem.b = padded(problem_.b.first, shape_.k, width);
  problem.c = padded(problem_.c.first, problem.shape.m, width);
  auto choice = operations::choose_alike(whole_choice_, problem, device_->properties());
  if (!choice) {
    note_ = "the bits may differ from one GPU's: a part takes another kernel";
    choice = operations::choose_in_memory(problem, *device_, "");
  }
  prepared_[width] = {problem,
                      std::make_unique<operations::RecordedProduct>(*device_, [&](Device& on) {
                        return operations::prepare_in_memory(on, problem, *choice);
                      })};
}

void GpuRankProduct::compute(std::size_t panel, const Range& columns, const Range& band,
                             const MatrixView& c) {
  Device& device = *device_;
  Slot& slot = slots_[panel % slot_count];
  device.wait(compute_, slot.arrived);
  if (columns.count > 0 && c.rows > 0) {
    const Range& rows = rows_[static_cast<std::size_t>(grid_.row(all_.rank()))];
    const std::int64_t bias = problem_.bias_per_row ? rows.first : columns.first;
    const Prepared& ready = prepared_.at(columns.count);
    ready.product->bind(
        {.a = a_.address(),
         .b = slot.b.address(),
         .c = slot.c.address(),
         .bias = bias_.address() + static_cast<DeviceAddress>(bias) * sizeof(float)});
    if (problem_.beta != 0.0) {
      const MatrixView part = operations::part(
          c, 0, c.rows, columns.first - this->part(all_.rank(), band).columns.first, columns.count);
      const auto bytes = [&](std::int64_t elements) {
        return static_cast<std::size_t>(elements) * size_of(c.type);
      };
      device.copy_rows_to_device(slot.c.address(), bytes(ready.problem.c.leading), part.data,
                                 bytes(part.leading), bytes(part.columns),
                                 static_cast<std::size_t>(part.rows), compute_);
    }
    ready.product->launch(compute_);
  }
  device.record(slot.computed, compute_);
}

// Brings a panel of C to the host.
void GpuRankProduct::store(std::size_t panel, const Range& columns, const Range& band,
                           const MatrixView& c) {
  if (columns.count == 0 || c.rows == 0) return;
  Slot& slot = slots_[panel % slot_count];
  const MatrixView to = operations::part(
      c, 0, c.rows, columns.first - part(all_.rank(), band).columns.first, columns.count);
  const GemmOperand from = padded(c, c.rows, columns.count);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * size_of(c.type);
  };
  device_->wait(down_, slot.computed);
  device_->copy_rows_to_host(to.mutable_data(), bytes(to.leading), slot.c.address(),
                             bytes(from.leading), bytes(to.columns),
                             static_cast<std::size_t>(to.rows), down_);
  device_->synchronize(down_);
}

void GpuRankProduct::multiply(std::int64_t index, const Range& band, const MatrixView& c) {
  const std::vector<Range> mine = panels(all_.rank(), band);
  bring_a(index);
  bring_b(index, band, 0);
  for (std::size_t panel = 0; panel < mine.size(); ++panel) {
    compute(panel, mine[panel], band, c);
    // A panel of C leaves its slot before the next but one is computed there.
    if (panel > 0) store(panel - 1, mine[panel - 1], band, c);
    if (panel + 1 < mine.size()) bring_b(index, band, panel + 1);
  }
  store(mine.size() - 1, mine.back(), band, c);
}

}  // namespace tilescope::ranks
