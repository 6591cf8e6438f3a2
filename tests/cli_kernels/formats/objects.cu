// Three launches, each with one mistake: freed memory, a destroyed texture, a surface's edge.
struct List {
  float* values;
};

__global__ void add(List* list) {
  list->values[threadIdx.x] += 1;
}

__global__ void sample(cudaTextureObject_t texture, float* y) {
  y[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 0);
}

__global__ void fill(cudaSurfaceObject_t surface) {
  surf2Dwrite(1.0f, surface, threadIdx.x * static_cast<int>(sizeof(float)), 0);
}

int main() {
  float* values;
  cudaMalloc(&values, 32 * sizeof(float));
  cudaMemset(values, 0, 32 * sizeof(float));
  List host{values}, *list;
  cudaMalloc(&list, sizeof(List));
  cudaMemcpy(list, &host, sizeof(List), cudaMemcpyHostToDevice);
  cudaFree(values);
  add<<<1, 32>>>(list);

  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &floats, 16, 4, cudaArraySurfaceLoadStore);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description = {};
  cudaTextureObject_t texture;
  cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  cudaDestroyTextureObject(texture);
  float* y;
  cudaMalloc(&y, 32 * sizeof(float));
  sample<<<1, 16>>>(texture, y);

  cudaSurfaceObject_t surface;
  cudaCreateSurfaceObject(&surface, &resource);
  fill<<<1, 32>>>(surface);
  const bool failed = cudaDeviceSynchronize() != cudaSuccess;
  cudaDestroySurfaceObject(surface);
  cudaFreeArray(array);
  cudaFree(list);
  cudaFree(y);
  return failed;
}
