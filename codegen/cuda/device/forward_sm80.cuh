// Forward attention for sm_80 and later: one block of query rows of one (batch, head) a
// CTA, sixteen rows a warp, mma.sync with operands from swizzled shared memory.
//
//   for each run of the block list, for each tile of it, ascending:
//     wait for K and V; start the copy of the next tile
//     S = Q K^T                     scores, in registers
//     score_mod; partial tiles: mask
//     softmax                       S becomes P, O is rescaled
//     O += P V
//     last tile of a split: join (m, l, O) to the carry
//   sink, division, output rows, log-sum-exp
//
// Shared memory: [Q, later the carry | K x stages | V x stages | column values]. Q moves to
// registers or stays, as Config says; where it moves, the carry takes its place.

template <class Config, class Mods> struct ForwardSm80 {
  using Element = typename Config::Element;
  static constexpr int kThreads = Config::kBlockM * 2; // 32 lanes for 16 rows
  static constexpr int kBlockM = Config::kBlockM, kBlockN = Config::kBlockN;
  static constexpr int kHeadDim = (Config::kHeadDim + 15) / 16 * 16, kValueDim = (Config::kValueDim + 15) / 16 * 16;
  static constexpr int kScoreTiles = kBlockN / 8, kOutputTiles = kValueDim / 8, kHeadSteps = kHeadDim / 16;
  static_assert(kScoreTiles <= 8, "the keep bits of a lane are one word");
  using QueryLayout = TileLayout<kBlockM, kHeadDim>;
  using KeyLayout = TileLayout<kBlockN, kHeadDim>;
  using ValueLayout = TileLayout<kBlockN, kValueDim>;

  static constexpr int kCarryBytes = kBlockM * kValueDim * 4;
  static constexpr int kQueryBytes =
      Config::kQueryInRegisters ? (QueryLayout::kBytes > kCarryBytes ? QueryLayout::kBytes : kCarryBytes)
                   : QueryLayout::kBytes + kCarryBytes;
  static constexpr int kStageBytes = KeyLayout::kBytes + ValueLayout::kBytes;
  static constexpr int kColumnBytes = Mods::kColumnValues * kBlockN * 4;
  static constexpr int kSharedBytes = kQueryBytes + Config::kStages * (kStageBytes + kColumnBytes);

  const typename Mods::Params &params;
  const attnc_device::Call &call;
  const int batch, head, firstRow, warp, lane;
  u32 querySpace, stageSpace;
  float *carrySpace;
  u32 *columnSpace;
  const u16 *keys, *values;
  float unit, scale; // scores times `unit` are in log2
  bool scalesScores;
  typename Mods::Head headValues;
  typename Mods::Row rowValues[2];
  Limits limits[2];
  u32 query[kHeadSteps][4];
  float output[kOutputTiles][4];
  RowState state;
  float carryMaximum[2], carrySum[2];
  bool hasCarry;

  __device__ __forceinline__ ForwardSm80(const typename Mods::Params &params, char *shared)
      : params(params), call(params.call), batch(blockIdx.z), head(blockIdx.y),
        firstRow((gridDim.x - 1 - blockIdx.x) * kBlockM), warp(threadIdx.x >> 5), lane(threadIdx.x & 31) {
    querySpace = sharedAddress(shared);
    carrySpace = (float *)(shared + (Config::kQueryInRegisters ? 0 : QueryLayout::kBytes));
    stageSpace = querySpace + kQueryBytes;
    columnSpace = (u32 *)(shared + kQueryBytes + Config::kStages * kStageBytes);
    const int kvHead = head / (call.heads / call.kvHeads);
    keys = (const u16 *)call.key + batch * call.keyStrides[0] + kvHead * call.keyStrides[1];
    values = (const u16 *)call.value + batch * call.valueStrides[0] + kvHead * call.valueStrides[1];
    // Scores stay as the product gives them where nobody looks at them and the factor is
    // positive: maxima commute with it.
    scale = call.scale;
    scalesScores = Mods::kModifiesScore || !(scale > 0.f);
    unit = scalesScores ? kLog2E : __fmul_rn(scale, kLog2E);
    headValues = Mods::perHead(params, batch, head);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      rowValues[half] = Mods::perRow(params, batch, head, queryIndex(half), headValues);
      limits[half] = Mods::limits(params, batch, head, queryIndex(half), headValues, rowValues[half]);
      limits[half].high = min(limits[half].high, call.kvLength);
    }
    hasCarry = false;
    clearState();
  }

  ATTNC_DEVICE void run(const typename Mods::Params &params, char *shared) {
    ForwardSm80 kernel(params, shared);
    kernel.walk();
    kernel.finish();
  }

  __device__ __forceinline__ int rowOf(int half) const { return firstRow + warp * 16 + (lane >> 2) + half * 8; }
  __device__ __forceinline__ int queryIndex(int half) const { return call.queryOffset + rowOf(half); }

  __device__ __forceinline__ void clearState() {
#pragma unroll
    for (int n = 0; n < kOutputTiles; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        output[n][e] = 0.f;
    state = {{-infinity(), -infinity()}, {0.f, 0.f}};
  }

  //===--- the walk over tiles ---------------------------------------------------===//

  // Position in the block list; `tile` is -1 past the end.
  struct Cursor {
    const attnc_device::Run *run, *end;
    int tile, last;
    bool isPartial;
    __device__ __forceinline__ void open() {
      if (run == end) {
        tile = -1;
        return;
      }
      tile = run->first;
      last = tile + (run->count >> 1) - 1;
      isPartial = run->count & 1;
      ++run;
    }
    __device__ __forceinline__ void next() {
      if (tile == last)
        open();
      else
        ++tile;
    }
  };

  __device__ __forceinline__ Cursor firstTile() const {
    Cursor cursor = {};
    if (call.tiles == attnc_device::kListedTiles) {
      const int slice = call.slices[batch * call.heads + head];
      const int *offsets = call.runOffsets + (long long)slice * (gridDim.x + 1) + firstRow / kBlockM;
      cursor.run = call.runs + offsets[0];
      cursor.end = call.runs + offsets[1];
      cursor.open();
    } else {
      cursor.last = (call.kvLength + kBlockN - 1) / kBlockN - 1;
      cursor.tile = cursor.last < 0 ? -1 : 0;
      cursor.isPartial = call.tiles == attnc_device::kAllTilesPartial;
    }
    return cursor;
  }

  __device__ __forceinline__ void walk() {
    Cursor cursor = firstTile();
    if (cursor.tile < 0)
      return;
    copyTile<kBlockM, kHeadDim, Config::kHeadDim, kThreads>(
        querySpace, (const u16 *)call.query + batch * call.queryStrides[0] + head * call.queryStrides[1],
        call.queryStrides[2], firstRow, call.queryLength);
    copyKeyValue(cursor.tile, 0);
    commitCopies();
    bool isFirst = true;
    int stage = 0;
    while (cursor.tile >= 0) {
      const int tile = cursor.tile;
      const bool isPartial = cursor.isPartial || (tile + 1) * kBlockN > call.kvLength;
      cursor.next();
      if (Config::kStages == 2) {
        if (cursor.tile >= 0)
          copyKeyValue(cursor.tile, stage ^ 1);
        commitCopies();
        waitCopies<1>();
      } else {
        waitCopies<0>();
      }
      __syncthreads();
      if (isFirst && Config::kQueryInRegisters) {
        loadQuery();
        __syncthreads(); // the carry may take the place of Q from here on
      }
      isFirst = false;
      attend(tile, stage, isPartial);
      __syncthreads(); // before the stage is filled again
      if (Config::kStages == 1 && cursor.tile >= 0) {
        copyKeyValue(cursor.tile, 0);
        commitCopies();
      }
      if (Config::kStages == 2)
        stage ^= 1;
      const bool endsSplit =
          cursor.tile < 0 || (u32)cursor.tile / Config::kSplitTiles != (u32)tile / Config::kSplitTiles;
      if (endsSplit && (hasCarry || cursor.tile >= 0))
        joinCarry(/*isLast=*/cursor.tile < 0);
    }
  }

  __device__ __forceinline__ u32 keySpace(int stage) const { return stageSpace + stage * kStageBytes; }
  __device__ __forceinline__ u32 valueSpace(int stage) const { return keySpace(stage) + KeyLayout::kBytes; }

  __device__ __forceinline__ void copyKeyValue(int tile, int stage) {
    copyTile<kBlockN, kHeadDim, Config::kHeadDim, kThreads>(keySpace(stage), keys, call.keyStrides[2], tile * kBlockN,
                                                            call.kvLength);
    copyTile<kBlockN, kValueDim, Config::kValueDim, kThreads>(valueSpace(stage), values, call.valueStrides[2],
                                                              tile * kBlockN, call.kvLength);
    if (Mods::kColumnValues > 0)
      for (int column = threadIdx.x; column < kBlockN; column += kThreads)
        Mods::perColumn(params, batch, head, tile * kBlockN + column, headValues,
                        columnSpace + stage * (kColumnBytes / 4) + column, kBlockN);
  }

  __device__ __forceinline__ void loadQuery() {
#pragma unroll
    for (int k = 0; k < kHeadSteps; ++k)
      loadA<QueryLayout>(query[k], querySpace, warp * 16, k);
  }

  //===--- one tile --------------------------------------------------------------===//

  __device__ __forceinline__ void attend(int tile, int stage, bool isPartial) {
    float scores[kScoreTiles][4];
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        scores[n][e] = 0.f;
#pragma unroll
    for (int k = 0; k < kHeadSteps; ++k) {
      if (!Config::kQueryInRegisters)
        loadA<QueryLayout>(query[k], querySpace, warp * 16, k);
#pragma unroll
      for (int n = 0; n < kScoreTiles; n += 2) {
        u32 b[4];
        loadB<KeyLayout>(b, keySpace(stage), n * 8, k);
        multiplyAdd<Element>(scores[n], query[k], b[0], b[1]);
        multiplyAdd<Element>(scores[n + 1], query[k], b[2], b[3]);
      }
    }
    const int firstColumn = tile * kBlockN + 2 * (lane & 3);
    const u32 *columns = columnSpace + stage * (kColumnBytes / 4) + 2 * (lane & 3);
    if (Mods::kModifiesScore)
      modifyScores(scores, firstColumn, columns);
    else if (scalesScores)
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          scores[n][e] = __fmul_rn(scores[n][e], scale);
    u32 keep = 0;
    if (isPartial) {
      keep = keepBits(tile, firstColumn, columns);
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          scores[n][e] = keep & (1u << (4 * n + e)) ? scores[n][e] : -infinity();
    }
    softmaxTile<kScoreTiles, kOutputTiles>(scores, output, state, unit);
    if (isPartial && hasNonFinite(valueSpace(stage)))
      admitNonFinite(valueSpace(stage), keep);
    accumulate(scores, valueSpace(stage));
  }

  __device__ __forceinline__ void modifyScores(float (&scores)[kScoreTiles][4], int firstColumn, const u32 *columns) {
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        scores[n][e] = Mods::score(params, __fmul_rn(scores[n][e], scale), batch, head, queryIndex(e >> 1),
                                   firstColumn + n * 8 + (e & 1), headValues, rowValues[e >> 1],
                                   columns + n * 8 + (e & 1), kBlockN);
  }

  __device__ __forceinline__ u32 keepBits(int tile, int firstColumn, const u32 *columns) const {
    const int start = tile * kBlockN;
    u32 keep = intervalBits<kBlockN>(clampToTile(limits[0].low, start), clampToTile(limits[0].high, start)) |
               intervalBits<kBlockN>(clampToTile(limits[1].low, start), clampToTile(limits[1].high, start)) << 2;
    if (!Mods::kMaskIsInterval) {
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (!Mods::keep(params, batch, head, queryIndex(e >> 1), firstColumn + n * 8 + (e & 1), headValues,
                          rowValues[e >> 1], columns + n * 8 + (e & 1), kBlockN))
            keep &= ~(1u << (4 * n + e));
    }
    return keep;
  }
  ATTNC_DEVICE int clampToTile(int limit, int start) { return limit <= start ? 0 : min(limit - start, kBlockN); }

  // The weights of keys [16 k, 16 k + 16) as the A of a product.
  ATTNC_DEVICE void packWeights(u32 (&a)[4], const float (&scores)[kScoreTiles][4], int k) {
    a[0] = Element::pack(scores[2 * k][0], scores[2 * k][1]);
    a[1] = Element::pack(scores[2 * k][2], scores[2 * k][3]);
    a[2] = Element::pack(scores[2 * k + 1][0], scores[2 * k + 1][1]);
    a[3] = Element::pack(scores[2 * k + 1][2], scores[2 * k + 1][3]);
  }

  __device__ __forceinline__ void accumulate(const float (&scores)[kScoreTiles][4], u32 tile) {
#pragma unroll
    for (int k = 0; k < kBlockN / 16; ++k) {
      u32 a[4];
      packWeights(a, scores, k);
#pragma unroll
      for (int n = 0; n < kOutputTiles; n += 2) {
        u32 b[4];
        loadBTransposed<ValueLayout>(b, tile, k, n);
        multiplyAdd<Element>(output[n], a, b[0], b[1]);
        multiplyAdd<Element>(output[n + 1], a, b[2], b[3]);
      }
    }
  }

  //===--- NaN and infinity behind a mask ---------------------------------------===//

  // Whether a tile of values holds one anywhere. All threads of the CTA agree.
  ATTNC_DEVICE bool hasNonFinite(u32 tile) {
    u32 found = 0;
    for (int at = threadIdx.x * 16; at < ValueLayout::kBytes; at += kThreads * 16) {
      u32 w[4];
      asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                   : "r"(tile + at)
                   : "memory");
#pragma unroll
      for (int i = 0; i < 4; ++i)
        found |= carryOfExponents(w[i]);
    }
    return __syncthreads_or(found & 0x80008000u);
  }
  // The upper bit of each half says whether its exponent is that of NaN and infinity: then
  // alone one more carries into the sign's place.
  ATTNC_DEVICE u32 carryOfExponents(u32 word) {
    constexpr u32 kExponents = Element::kExponents;
    return (word & kExponents) + (0x80008000u - kExponents);
  }
  // A mask of the halves of a word that are NaN or infinite.
  ATTNC_DEVICE u32 nonFiniteHalves(u32 word) {
    constexpr u32 kExponents = Element::kExponents;
    return ((word & kExponents & 0xffffu) == (kExponents & 0xffffu) ? 0xffffu : 0u) |
           ((word & kExponents & 0xffff0000u) == (kExponents & 0xffff0000u) ? 0xffff0000u : 0u);
  }
  // Of `word`, the halves of one kind (0: +infinity, 1: -infinity, 2: NaN) become 1, the rest 0.
  ATTNC_DEVICE u32 halvesOfKind(u32 word, int kind) {
    constexpr u32 kInfinity = Element::kExponents & 0xffffu;
    u32 ones = 0;
#pragma unroll
    for (int shift = 0; shift < 32; shift += 16) {
      const u32 half = word >> shift & 0xffffu;
      const bool isKind = kind == 2 ? (half & 0x7fffu) > kInfinity : half == (kind ? kInfinity | 0x8000u : kInfinity);
      ones |= isKind ? Element::kOne << shift : 0u;
    }
    return ones;
  }

  // Lets the NaN and infinities of a tile of values reach the rows that see them, and makes
  // zeros of them in shared memory: 0 times one would be NaN in every other row. Products
  // count which kinds a row sees. Rare, so small rather than fast: a loop takes two tiles of
  // the output, which as registers have no run-time index but move down by two a turn.
  __device__ __forceinline__ void admitNonFinite(u32 tile, u32 keep) {
#pragma unroll 1
    for (int n = 0; n < kOutputTiles; n += 2) {
      float seen[3][2][4] = {};
#pragma unroll 1
      for (int k = 0; k < kBlockN / 16; ++k) {
        u32 visible[4], b[4], ones[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const u32 bits = keep >> (8 * k + 4 * (i >> 1) + 2 * (i & 1));
          visible[i] = (bits & 1 ? Element::kOne : 0u) | (bits & 2 ? Element::kOne << 16 : 0u);
        }
        loadBTransposed<ValueLayout>(b, tile, k, n);
#pragma unroll
        for (int kind = 0; kind < 3; ++kind) {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            ones[i] = halvesOfKind(b[i], kind);
          multiplyAdd<Element>(seen[kind][0], visible, ones[0], ones[1]);
          multiplyAdd<Element>(seen[kind][1], visible, ones[2], ones[3]);
        }
      }
      float first[2][4];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int m = i / 4, e = i % 4;
        const bool high = seen[0][m][e] > 0.f, low = seen[1][m][e] > 0.f;
        first[m][e] = output[m][e];
        if (seen[2][m][e] > 0.f || (high && low))
          first[m][e] = __int_as_float(0x7fffffff);
        else if (high || low)
          first[m][e] = __fadd_rn(first[m][e], high ? infinity() : -infinity());
      }
#pragma unroll
      for (int m = 0; m < kOutputTiles; ++m)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          output[m][e] = m < kOutputTiles - 2 ? output[m + 2][e] : first[m - (kOutputTiles - 2)][e];
    }
    __syncthreads();
    for (int at = threadIdx.x * 4; at < ValueLayout::kBytes; at += kThreads * 4) {
      u32 word;
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(tile + at) : "memory");
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(tile + at), "r"(word & ~nonFiniteHalves(word)) : "memory");
    }
    __syncthreads();
  }

  //===--- splits ----------------------------------------------------------------===//

  // The carry's O lies in shared memory, each lane's own values apart by kThreads words.
  __device__ __forceinline__ void joinCarry(bool isLast) {
    float *carry = carrySpace + threadIdx.x;
    if (!hasCarry) {
#pragma unroll
      for (int i = 0; i < kOutputTiles * 4; ++i)
        carry[i * kThreads] = output[i / 4][i % 4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        carryMaximum[half] = state.maximum[half];
        carrySum[half] = state.sum[half];
      }
      hasCarry = true;
      clearState();
      return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const MergeFactors factors = mergeFactors(carryMaximum[half], state.maximum[half], unit);
      carryMaximum[half] = factors.maximum;
      carrySum[half] = merge(carrySum[half], state.sum[half], factors);
#pragma unroll
      for (int i = 0; i < kOutputTiles * 2; ++i) {
        const int n = i / 2, e = 2 * half + i % 2;
        output[n][e] = merge(carry[(4 * n + e) * kThreads], output[n][e], factors);
        if (!isLast)
          carry[(4 * n + e) * kThreads] = output[n][e];
      }
    }
    if (!isLast)
      clearState();
    else
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        state.maximum[half] = carryMaximum[half];
        state.sum[half] = carrySum[half];
      }
  }

  //===--- the end ---------------------------------------------------------------===//

  __device__ __forceinline__ void finish() {
    u16 *rows = (u16 *)call.output + batch * call.outputStrides[0] + head * call.outputStrides[1];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = finishSum(state.sum[half]);
      float maximum = __fmul_rn(state.maximum[half], unit), factor = 1.f; // log2
      if (Mods::kHasSink) {
        const float sink = __fmul_rn(Mods::sink(params, batch, head), kLog2E);
        const MergeFactors factors = mergeFactors(maximum, sink, 1.f);
        sum = merge(sum, 1.f, factors);
        factor = factors.carry;
        maximum = factors.maximum;
      }
      const float inverse = sum == 0.f ? 0.f : __fmul_rn(factor, __frcp_rn(sum));
      const int row = rowOf(half);
      if (row >= call.queryLength)
        continue;
#pragma unroll
      for (int n = 0; n < kOutputTiles; ++n) {
        const int column = n * 8 + 2 * (lane & 3);
        if (Config::kValueDim == kValueDim || column < Config::kValueDim)
          *(u32 *)(rows + row * call.outputStrides[2] + column) =
              Element::pack(__fmul_rn(output[n][2 * half], inverse), __fmul_rn(output[n][2 * half + 1], inverse));
      }
      if (call.lse && (lane & 3) == 0)
        call.lse[batch * call.lseStrides[0] + head * call.lseStrides[1] + row * call.lseStrides[2]] =
            sum == 0.f ? -infinity() : __fmul_rn(__fadd_rn(maximum, log2Approx(sum)), kLn2);
    }
  }
};
