// A loop adds one to a global three times, and the function returns its value: 6.
util.global private mutable @count = 3 : i32
func.func @main() -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i32
  scf.for %i = %c0 to %c3 step %c1 {
    %n = util.global.load @count : i32
    %m = arith.addi %n, %one : i32
    util.global.store %m, @count : i32
  }
  %n = util.global.load @count : i32
  return %n : i32
}
