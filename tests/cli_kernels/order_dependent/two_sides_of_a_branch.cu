// Both sides of a branch of one warp write the same word.
// launch: --grid 1 --block 32 --arg x=i32[1]=zeros
__global__ void sides(int* x) {
  volatile int* word = x;
  if (threadIdx.x == 3) {
    word[0] = 1;
  } else if (threadIdx.x == 4) {
    word[0] = word[0] * 2 + 3;
  }
}
