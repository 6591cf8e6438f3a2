// Variables of every space with every kind of initial value.
__constant__ float coefficients[4] = {1, -2.5f, 0, 3};
__constant__ int* pointer;
__device__ int counter;
__device__ const char* names[3] = {"a", "bc", "def"};
__device__ double matrix[2][3] = {{1, 2}, {3}};
__device__ unsigned short shorts[5] = {1, 2, 3};
__device__ const float* inside = &coefficients[2];
__managed__ int managed = 4;
#pragma pack(push, 1)
struct Packed {
  char c;
  int* p;
};
#pragma pack(pop)
__device__ Packed packed = {'x', &counter};
struct Node {
  char letter;
  const char* name;
  float value;
};
__device__ Node node = {'n', "node", 1.5f};

__global__ void read(float* out, int n) {
  out[0] = coefficients[n] + pointer[n] + counter + names[n][0] + matrix[1][n] + shorts[n] +
           inside[n] + managed + *packed.p + node.name[n] + node.value;
}
