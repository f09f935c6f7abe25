# SPDX-License-Identifier: GPL-2.0-only
# Makes words, counts them, writes them to a file that it reads again: deterministic.
use strict;
use warnings;

my $steps = shift;
my ($x, $sum, %count) = (12345, 0);
$| = 1;
open(my $out, '+>', 'words.out') or die "words.out: $!";
for my $step (1 .. $steps) {
    for (1 .. 2500) {
        $x = ($x * 1103515245 + 12345) % 2147483648;
        my $word = join '', map { chr(97 + ($x >> $_) % 26) } (3, 9, 15);
        $count{$word}++;
        $sum += length($1) if $word =~ /([aeiou]+)[^aeiou]*$/;
        print $out "$word\n" if $x % 50 == 0;
    }
    print "$step $sum ", scalar(keys %count), "\n";
}
seek($out, 0, 0);
my $lines = 0;
$lines++ while <$out>;
print "lines $lines\n";
print "$_ $count{$_}\n" for (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 9];
