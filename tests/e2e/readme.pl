#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Runs the commands that a document shows and compares what they print with what it says.
#
#   readme.pl FILE [FROM=TO]...
#
# In a fence marked `console`, a line "$ COMMAND" is run by bash (lines that end in \ go on), and
# the lines up to the next command or the end of the fence are what stdout and stderr must be
# together; a line "..." stands for any lines. FROM=TO replaces text in both.
use strict;
use warnings;

my ($file, @replace) = @ARGV;
open my $in, '<', $file or die "$file: $!\n";
my ($fenced, @cases) = (0);
while (my $line = <$in>) {
    chomp $line;
    if ($line =~ /^```/) { $fenced = !$fenced && $line eq '```console' ? 1 : 0; next; }
    next unless $fenced;
    if ($line =~ /^\$ (.*)/) {
        push @cases, { line => $., command => $1, expected => [] };
        $fenced = 2 if $line =~ /\\$/;
    } elsif ($fenced == 2) {
        $cases[-1]{command} .= "\n$line";
        $fenced = 1 unless $line =~ /\\$/;
    } else {
        push @{ $cases[-1]{expected} }, $line;
    }
}
my ($passed, $failed) = (0, 0);
for my $case (@cases) {
    my $command = $case->{command};
    for (@replace) {
        my ($from, $to) = split /=/, $_, 2;
        s/\Q$from\E/$to/g for $command, @{ $case->{expected} };
    }
    open my $out, '-|', 'bash', '-c', "{ $command\n} 2>&1 </dev/null" or die "bash: $!\n";
    my $got = do { local $/; <$out> } // '';
    close $out;
    my $pattern = join '', map { $_ eq '...' ? '(?:.*\n)*?' : quotemeta($_) . '\n' }
        @{ $case->{expected} };
    if ($got =~ /\A$pattern\z/) { $passed++; next; }
    $failed++;
    print "$file:$case->{line}: \$ $case->{command}\n";
    print "  it says:\n", map({ "    $_\n" } @{ $case->{expected} });
    print "  it prints:\n", map({ "    $_\n" } split /\n/, $got);
}
print "$passed passed, $failed failed\n";
exit($failed || !$passed ? 1 : 0);
