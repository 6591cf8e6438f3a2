// Functions called through virtual tables on the stack.
struct Base { __device__ virtual float f(float x) const = 0; };
struct A : Base { __device__ float f(float x) const override { return x + 1; } };
struct B : Base { __device__ float f(float x) const override { return x * 2; } };
__global__ void k(const float* x, float* y) { A a; B b; const Base* o = threadIdx.x % 2 ? (const Base*)&a : (const Base*)&b; y[threadIdx.x] = o->f(x[threadIdx.x]); }
