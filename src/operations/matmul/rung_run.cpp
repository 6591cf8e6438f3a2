#include "operations/matmul/rung_run.hpp"

#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/matmul/kernel_product.hpp"

namespace tilescope::operations {
namespace {

OperandLayout dense_layout(DataType type, Order order, std::int64_t rows, std::int64_t columns) {
  OperandLayout layout{{.type = type, .order = order}, rows, columns};
  layout.operand.leading = layout.vector_length();
  return layout;
}

class RungRun final : public GemmRun {
 public:
  RungRun(Device& device, const MatmulVariant& variant, const GemmProblem& problem)
      : RungRun(device, variant, problem, variant.padded(problem.shape),
                problem.precision == Precision::fp64 ? DataType::float64 : DataType::float32) {}

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    a_.copy_in(addresses.a, stream);
    b_.copy_in(addresses.b, stream);
    product_.run(a_.address(addresses.a), b_.address(addresses.b), c_.address(addresses.c), stream);
    c_.copy_out(addresses.c, stream);
  }

 private:
  RungRun(Device& device, const MatmulVariant& variant, const GemmProblem& problem,
          const MatmulShape& padded, DataType element)
      : a_(device, {problem.a, problem.shape.m, problem.shape.k},
           dense_layout(element, Order::row_major, padded.m, padded.k), 1, "padded A"),
        b_(device, {problem.b, problem.shape.k, problem.shape.n},
           dense_layout(element, variant.row->b_order, padded.k, padded.n), 1, "padded B"),
        c_(device, {problem.c, problem.shape.m, problem.shape.n},
           dense_layout(element, Order::row_major, padded.m, padded.n), 1, "padded C"),
        product_(device, variant, problem.shape, element) {}

  StagedOperand a_, b_, c_;
  KernelProduct product_;
};

}  // namespace

std::unique_ptr<GemmRun> prepare_rung(Device& device, const MatmulVariant& variant,
                                      const GemmProblem& problem) {
  return std::make_unique<RungRun>(device, variant, problem);
}

}  // namespace tilescope::operations
