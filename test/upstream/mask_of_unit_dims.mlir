// docs/upstream/cuda_padded_reduction_reads_on.md
func.func @rows(%rows: index) -> vector<4xi1> {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %mask = vector.create_mask %c1, %rows, %c4 : vector<1x1x4xi1>
  %flat = vector.shape_cast %mask : vector<1x1x4xi1> to vector<4xi1>
  return %flat : vector<4xi1>
}
