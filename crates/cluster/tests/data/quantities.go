//go:build ignore

// Writes what Kubernetes makes of many quantities: the table quantities.tsv. See README.md.
//
// With the argument "-" it takes the quantities from standard input, one a line.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Every one of these with every suffix.
var numbers = []string{
	"0", "1", "-1", "+1", "7", "8", "1.5", "-1.5", ".5", "-.5", "5.", "007", "00", "0.0", "1.000",
	"999", "1000", "1001", "1023", "1024", "-1024", "1025", "1536", "4096", "1048576",
	"0.001", "0.0001", "0.000000001", "0.0000000001", "-0.0000000001", "1.0000000001",
	"0.1", "100.035", "123456789012345678", "1234567890123456789", "0.123456789012345678901",
	"9223372036854775807", "9223372036854775808", "-9223372036854775809",
	"1234567890123456789012345678901234567890", "", ".", "+", "-", "-.",
}

var suffixes = []string{
	"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
	"e0", "e1", "E2", "e3", "e+3", "E-1", "e-3", "e-9", "e-10", "e-12", "e18", "e21",
}

// These as they are. Most stand in apimachinery's own tests.
var singles = []string{
	// Not quantities.
	" ", " 1", "1 ", "1 Mi", "1Kib", "1mm", "1kk", "1K", "1ki", "1mi", "1Mib", "1nn", "1i", ".5i",
	"1KiKi", "1Ki1", "1Ki+", "1m1", "1m-", "1n3", "1k+3", "1MM", "1Em", "1eKi", "1e", "1e+", "1e-",
	"1ee3", "1Ee3", "1e3e3", "1e3k", "1e3.5", "1e 3", "1e++3", "1e+-3", "e", "e3", "E3", "e-10",
	"0x10", "1_000", "1,000", "1.1.M", "1..1", "..", "...", "1+1.0M", "0.1mi", "0.1am", "aoeu",
	"-3.01i", "-3.01e-", "--1", "+-1", "-+1", "++1", "- 1", "1-", "1+", "1-1", "1.5-", "Inf", "NaN",
	"infinity", "1µ", "１", "1é", "é", "1Mi é", "one", "/", ":", "1/2", "1%", "$1",
	"1e99999999999999999999", "1e9223372036854775808", "trailing whitespace is forbidden",
	"kM", "Kii", "iK", "imM", "1Ei3", "1E3i", "1Ti ", "'1'", "\"1\"",
	// Usual ones.
	"4", "100m", "128Mi", "250m", "2500m", "0.1", "64Gi", "1.5Gi", "0.5Gi", "2Gi", "1100m",
	"262144Ki", "131980Ki", "32780356Ki", "16384Mi", "1000k", "1000Ki", "1024Mi", "5120Mi",
	// From the tests of apimachinery.
	"8Ki", "7Mi", "6Gi", "5Ti", "4Pi", "3Ei", "10Ti", "100Ti", "5n", "4u", "3m", "9", "8k", "50k",
	"7M", "6G", "5T", "40T", "300T", "2P", "1E-3", "1E6", "1e9", "1E12", "1e15", "1E18", "1e14",
	"1e13", "100.035k", "0.0005k", "0.005", "0.05", "0.5", "0.00050k", "0.00500", "0.05000",
	"0.50000", "0.5e0", "0.5e-1", "0.5e-2", "10.035M", "1.2e3", "1.3E+6", "1.40e9", "1.53E12",
	"1.6e15", "1.7E18", "9.01", "8.1k", "7.123456M", "6.987654321G", "5.444T", "40.1T", "300.2T",
	"2.5P", "1.01E", "3.001n", "1.1E-9", "0.0000000005", "0.00000000050", "0.5e-9", "0.9n",
	"0.00000012345", "0.00000012354", "9Ei", "9223372036854775807Ki", "12E", "0.5Mi", "0.05Gi",
	"0.025Ti", "0.000000000001Ki", ".001", ".0001k", "1.G", "100.035Ki", "0.05Ki", "-0.05Ki",
	// Rounding at a nano-unit.
	"0.0000000010", "0.00000000100", "0.0000000011", "0.00000000109", "0.9999999999",
	"0.99999999990", "1.9999999999", "-1.9999999999", "0.1n", "0.99n", "-0.99n", "1.01n",
	"0.0000000000", "0.00000000000000000000n", "1.00000000000000000000", "1e-100", "-1e-100", "0e-100",
	"1000000000000000000000000000000000000000000000000e-40",
	"1000000000000000000000000000000000000000000000001e-57",
	"1000000000000000000000000000000000000000000000001e-58", "0.1Ki", "0.3Ki", "-0.3Ki", "0.7Ei",
	"0.333333333333333333333333333333333333Ei", "0.00000000000000000001Ei",
	"0.000000000000000000000000001Ei", "0.0009765625Ki", "0.00097656250000000000000001Ki",
	"0.00097656249999999999999999Ki", "1.00000000000000000000000000000000000001Ki",
	// Rounding at a unit and a milli-unit.
	"1m", "999m", "1001m", "1999m", "-1m", "-999m", "-1001m", "1u", "999u", "1001u", "-1u", "1n",
	"1000000001n", "999999999n", "0.0015", "1.0001", "-1.0001", "1.5e-3", "0.5Ki", "1.0005Ki",
	// The caps.
	"7Ei", "8Ei", "-8Ei", "-9Ei", "7.9999999999Ei", "7.99999999999999999999999999999Ei", "8191Pi",
	"8192Pi", "8388607Ti", "8388608Ti", "9007199254740991Ki", "9007199254740992Ki",
	"-9007199254740992Ki", "9007199254740991.9999999999999999Ki", "99999999999999999999999Ki",
	"9.2E", "9.3E", "-9.3E", "9223372036854775.807k", "9223372036854775.808k",
	"9223372036854775807m", "9223372036854775808m", "-9223372036854775808",
	"9223372036854775807000m", "9223372036854775807001m", "9223372036854775807.000000001",
	"9223372036854775", "9223372036854776", "100E", "999E", "1000E", "1001E", "1e20", "1e29", "17e28",
	"170141183460469231731687303715", "170141183460469231731687303716", "18e28", "-18e28", "1e30",
	"1e100", "-1e100", "10e99", "1e400",
	// Exponents keep 32 bits.
	"1e4294967296", "1e4294967299", "1e-4294967293", "1e2147483647", "0e2147483647", "1e0003", "1e-0",
}

func main() {
	fmt.Println("# input\tstatus\tformat\tnanos\tvalue\tmilli\tgo_value\tgo_milli\tcanonical\tstring")
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if len(os.Args) > 1 && os.Args[1] == "-" {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			row(out, in.Text())
		}
		return
	}
	for _, number := range numbers {
		for _, suffix := range suffixes {
			row(out, number+suffix)
		}
	}
	for _, input := range singles {
		row(out, input)
	}
}

func row(out *bufio.Writer, input string) {
	q, err := resource.ParseQuantity(input)
	switch {
	case errors.Is(err, resource.ErrFormatWrong):
		fmt.Fprintf(out, "%s\tformat\n", input)
	case errors.Is(err, resource.ErrSuffix):
		fmt.Fprintf(out, "%s\tsuffix\n", input)
	case errors.Is(err, resource.ErrNumeric):
		fmt.Fprintf(out, "%s\tnumeric\n", input)
	case err != nil:
		panic(err)
	default:
		nanos, value, milli := exact(q.DeepCopy())
		number, suffix := q.CanonicalizeBytes(nil)
		fmt.Fprintf(out, "%s\tok\t%s\t%s\t%d\t%d\t%d\t%d\t%s%s\t%s\n", input, q.Format,
			nanos, value, milli, q.Value(), q.MilliValue(), number, suffix, q.String())
	}
}

// exact gives the nano-units, "+" or "-" for those that leave 128 bits, and the units and
// milli-units rounded away from zero, capped at 64 bits: without the accidents of Value().
func exact(q resource.Quantity) (nanos string, value, milli int64) {
	dec := q.AsDec()
	sign := dec.Sign()
	n := new(big.Int)
	switch power := 9 - int64(dec.Scale()); {
	case sign == 0:
	case power > 100:
		n.Lsh(big.NewInt(1), 300)
		if sign < 0 {
			n.Neg(n)
		}
	case power >= 0:
		n.Mul(dec.UnscaledBig(), new(big.Int).Exp(big.NewInt(10), big.NewInt(power), nil))
	default:
		if _, left := n.QuoRem(dec.UnscaledBig(), new(big.Int).Exp(big.NewInt(10), big.NewInt(-power), nil), new(big.Int)); left.Sign() != 0 {
			panic("finer than nano")
		}
	}
	nanos = n.String()
	if n.BitLen() > 127 {
		nanos = map[int]string{1: "+", -1: "-"}[sign]
	}
	return nanos, awayFromZero(n, 1_000_000_000), awayFromZero(n, 1_000_000)
}

func awayFromZero(n *big.Int, step int64) int64 {
	q, left := new(big.Int).QuoRem(n, big.NewInt(step), new(big.Int))
	q.Add(q, big.NewInt(int64(left.Sign())))
	switch {
	case q.IsInt64():
		return q.Int64()
	case q.Sign() > 0:
		return math.MaxInt64
	default:
		return math.MinInt64
	}
}
