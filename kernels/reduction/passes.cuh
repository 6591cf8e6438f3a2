// The launches of a tree of blocks: the elements, then the blocks' values until one is left, then
// the result. For files that define reduce_block(list, n, blocks), included below it.
#pragma once

extern "C" __global__ void reduce(const ELEMENT* x, long long n, Value* blocks) {
  reduce_block(Elements{x}, n, blocks);
}
extern "C" __global__ void reduce_again(const Value* x, long long n, Value* blocks) {
  reduce_block(Partials{x}, n, blocks);
}
extern "C" __global__ void finish(const Value* x, Operator::Result* result) {
  *result = Operator::result(*x);
}
