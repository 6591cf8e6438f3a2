// The layers of a cluster, which have the same tile of C and a part of k each, add up their sums:
// each sends the others those of their lots, from registers to shared memory.
#pragma once

#include "tensor_addend.cuh"
#include "tensor_products.cuh"

constexpr int lots_of_block = sharers * lots_of_consumer;
constexpr int most_lots_of_layer = (lots_of_block + layers - 1) / layers;
constexpr int sums_of_lot = boxes_at_once * box_columns / 2;  // of a thread
static_assert(layers == 1 || sums_of_lot % 4 == 0, "a thread sends 16 bytes at a time");
constexpr int quads_of_lot = (sums_of_lot + 3) / 4;

// By layer, those before this block's first; the lots that this block stores; a thread's fours of
// sums.
using ReceivedSums = float4[layers > 1 ? layers - 1 : 1][most_lots_of_layer][quads_of_lot][128];

// The place of layer `layer` among those from which layer `to` receives.
__device__ inline int place_at(int to, int layer) { return layer - (layer > to ? 1 : 0); }

// Bytes that this block receives.
__device__ inline unsigned bytes_from_layers() {
  const int lots = (lots_of_block - layer_of_block() + layers - 1) / layers;
  return (layers - 1) * lots * sizeof(float4[quads_of_lot][128]);
}

__device__ inline float bits_of(float sum) { return sum; }
__device__ inline float bits_of(int sum) { return __int_as_float(sum); }
__device__ inline void add_bits(float& sum, float more) { sum += more; }
__device__ inline void add_bits(int& sum, float more) { sum += __float_as_int(more); }

// Adds the other layers' sums to the consumer's, in the order of k, for the lots that this block
// stores. The others' are sent away: every layer begins with the one behind it, so that no block
// receives from all at once.
__device__ inline void add_layers(Sums& sum, ReceivedSums& received, Barrier& all_received,
                                  int consumer) {
  const int layer = layer_of_block(), thread = threadIdx.x % 128;
  const int first = consumer * lots_of_consumer;
#pragma unroll 1
  for (int step = 1; step < layers; ++step) {
    const int to = (layer + step) % layers;
    const unsigned rank = cluster_rank() + (to - layer) * in_layer;
#pragma unroll
    for (int lot = 0; lot < lots_of_consumer; ++lot) {
      if ((first + lot) % layers != to) continue;
      float4(&of_lot)[quads_of_lot][128] =
          received[place_at(to, layer)][(first + lot) / layers];
      const Sum* const sums =
          sum[lot / lots_of_product] + lot % lots_of_product * sums_of_lot;
#pragma unroll
      for (int q = 0; q < quads_of_lot; ++q) {
        const float values[4] = {bits_of(sums[4 * q]), bits_of(sums[4 * q + 1]),
                                 bits_of(sums[4 * q + 2]), bits_of(sums[4 * q + 3])};
        send(of_lot[q][thread], values, all_received, rank);
      }
    }
  }
  wait(all_received, 0);
#pragma unroll
  for (int lot = 0; lot < lots_of_consumer; ++lot) {
    if (!is_stored_here(consumer, lot)) continue;
    Sum* const sums = sum[lot / lots_of_product] + lot % lots_of_product * sums_of_lot;
#pragma unroll
    for (int q = 0; q < quads_of_lot; ++q) {
      Sum total[4] = {};
#pragma unroll
      for (int l = 0; l < layers; ++l) {
        float4 more;
        if (l == layer) {
          more = {bits_of(sums[4 * q]), bits_of(sums[4 * q + 1]), bits_of(sums[4 * q + 2]),
                  bits_of(sums[4 * q + 3])};
        } else {
          more = received[place_at(layer, l)][(first + lot) / layers][q][thread];
        }
        add_bits(total[0], more.x);
        add_bits(total[1], more.y);
        add_bits(total[2], more.z);
        add_bits(total[3], more.w);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[4 * q + i] = total[i];
    }
  }
}
