# The command with everything that checking kernels and whole programs needs, no GPU included:
#   docker build -t tilescope .
#   docker run --rm -v "$PWD:/work" tilescope check race.cu --grid 1 --block 64 --arg ...
FROM debian:12-slim AS build
COPY . /source
WORKDIR /source
RUN apt-get update && tools/setup.sh program && make build

FROM debian:12-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends g++ libfmt9 libopenblas0-pthread libpng16-16 \
    liblz4-1 libzstd1 python3 \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /source/build/tilescope /source/build/libcudart.so.13 \
  /source/build/libcudart.so.12 /opt/tilescope/bin/
COPY --from=build /source/.deps/cuda /opt/tilescope/bin/.deps/cuda
ENV PATH=/opt/tilescope/bin:$PATH
WORKDIR /work
ENTRYPOINT ["tilescope"]
