//go:build ignore

// Writes what Go makes of many durations: the table durations.tsv. See README.md.
//
// With the argument "-" it takes the durations from standard input, one a line.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// Every one of these with every unit.
var numbers = []string{
	"0", "1", "-1", "+1", "1.5", "-1.5", ".5", "-.5", "5.", "007", "0.0", "59", "60", "61", "90", "999",
	"1000", "1001", "3599", "3600", "100000", "0.001", "0.000000001", "0.0000000001", "0.9999999999",
	"0.3333333333333333333", "0.1234567891234567", "2562047", "2562048", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9223372036854775809",
	"9223372036.854775807", "9223372036.854775808", "-9223372036.854775808", "18446744073709551616",
	"0.9223372036854775807", "0.9223372036854775808", "0.9223372036854775809",
	"0.00000000000000000000000000001", "0.00000000083333333333333333", "0.500000000000000000000000",
	"", ".", "-", "-.",
}

var units = []string{"", "ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", "S"}

// These as they are. Most stand in the tests of package time.
var singles = []string{
	"0", "-0", "+0", "00", "0.", "0.0", "0 ", " 0", "5s", "30s", "1478s", "-5s", "+5s", "-0s", "+0s",
	"5.0s", "5.6s", "5.s", ".5s", "1.0s", "1.00s", "1.004s", "1.0040s", "100.00100s", "10ns", "11us",
	"12µs", "12μs", "13ms", "14s", "15m", "16h", "3h30m", "10.5s4m", "-2m3.4s",
	"1h2m3s4ms5us6ns", "39h9m14.425s", "52763797000ns", "0.3333333333333333333h",
	"9007199254740993ns", "9223372036854775807ns", "9223372036854775.807us",
	"9223372036s854ms775us807ns", "-9223372036854775808ns", "-9223372036854775.808us",
	"-9223372036s854ms775us808ns", "-2562047h47m16.854775808s", "2562047h47m16.854775807s",
	"2562047h47m16.854775808s", "0.100000000000000000000h",
	"0.9223372036854775807h", "0.830103483285477580700h", "3000000h", "9223372036854775808ns",
	"9223372036854775.808us", "9223372036854ms775us808ns", "-9223372036854775809ns",
	// Not durations.
	" ", "3", "-", "+", "s", ".", "-.", ".s", "+.s", "-.s", "1.5", "1..5s", "1.2.3s", "1e3s", "1 s",
	"1s ", " 1s", "1s 1m", "--1s", "+-1s", "1s-1m", "1s+1m", "1sm", "1hm", "1h1", "1h1.", "1h.m", "1h.",
	"1d", "1w", "1y", "1day", "1sec", "1min", "1hour", "1H", "1M", "1Ms", "1NS", "1µ", "1u", "1n", "s1",
	"abc", "1,5s", "1_000s", "0x10s", "１s", "1é", "é", "P1D", "PT5M", "forever", "inf", "nan", "1s\u00a0",
	// More than one number, and the same unit twice.
	"1h1h", "1m1h", "1s1s1s", "1ns1h", "0h0m0s", "-1h1m", "1h30m0s", "24h0m0.000000001s",
	"168h", "1.5h1.5m1.5s", "1h0.5m", "2562047h2562047h", "9223372036854775807ns1ns",
	"-9223372036854775807ns1ns", "-9223372036854775808ns1ns",
	"-9223372036854775808ns9223372036854775808ns",
	// How they are written.
	"1100ns", "2200us", "3300ms", "999ns", "1000ns", "999999ns", "1000000ns", "999999999ns",
	"1000000001ns", "59999999999ns", "60000000000ns", "3599999999999ns", "4h5m6.001s", "8m0.000000001s",
	"4m5.001s", "5h6m7.001s", "-1ns", "-1.1us", "-2.2ms", "-3.3s", "-59m", "1.000000001s",
}

func main() {
	fmt.Println("# input\tstatus\tnanos\tseconds\tstring")
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if len(os.Args) > 1 && os.Args[1] == "-" {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			row(out, in.Text())
		}
		return
	}
	for _, number := range numbers {
		for _, unit := range units {
			row(out, number+unit)
		}
	}
	for _, input := range singles {
		row(out, input)
	}
}

func row(out *bufio.Writer, input string) {
	d, err := time.ParseDuration(input)
	switch {
	case err == nil:
		fmt.Fprintf(out, "%s\tok\t%d\t%d\t%s\n", input, int64(d), int64(d/time.Second), d)
	case strings.HasPrefix(err.Error(), "time: missing unit"):
		fmt.Fprintf(out, "%s\tmissing\n", input)
	case strings.HasPrefix(err.Error(), "time: unknown unit"):
		fmt.Fprintf(out, "%s\tunknown\n", input)
	default:
		fmt.Fprintf(out, "%s\tinvalid\n", input)
	}
}
